package gitops

import (
	"path/filepath"
	"testing"
)

// TestListsDontRememberAShallowHistory has the history become whole while git
// compares two of its commits, and looks what is told later on.
func TestListsDontRememberAShallowHistory(t *testing.T) {
	t.Parallel()
	l, origin, seed := withOrigin(t)
	base := l.commit(seed, "f", "1")
	l.commit(seed, "f", "2")
	head := l.commit(seed, "f", "3")
	l.run(seed, "push", "-q", "origin", "main", base+":refs/heads/base")
	dir := filepath.Join(l.root, "shallow")
	l.run(l.root, "clone", "-q", "--depth", "1", "--no-single-branch", "file://"+origin, dir)
	l.git = filepath.Join(l.root, "git")
	l.script(l.git, `#!/bin/sh
git "$@" || exit
case "$*" in *rev-list*) [ ! -e '`+dir+`/.git/shallow' ] || git -C '`+dir+`' fetch -q --unshallow;; esac
`)
	r, p := l.provider().r, l.projectAt(dir)
	ahead := func() int {
		c, err := r.newComparer(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		rel, err := c.relation(t.Context(), base, head)
		if err != nil {
			t.Fatal(err)
		}
		return rel.ahead
	}
	if n := ahead(); n != 1 {
		t.Fatalf("%d commits ahead while the history was cut off, not 1", n)
	}
	if n := ahead(); n != 2 {
		t.Errorf("%d commits are said to be ahead, and 2 are", n)
	}
}
