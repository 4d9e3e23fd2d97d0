package gitops

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestHomeInTheCheckoutIsTold(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.home = filepath.Join(l.dir, "trees")
	created := l.create(titled("one"))
	if !warned(created.Warnings, l.home, "outside", "ignore") || len(created.Warnings) != 1 {
		t.Errorf("warnings %q", created.Warnings)
	}
	if got := l.run(l.dir, "status", "--porcelain"); !strings.Contains(got, "trees/") {
		t.Errorf("the checkout is clean: %q", got)
	}
	l.write(filepath.Join(l.dir, ".git", "info", "exclude"), "/trees/\n")
	if created := l.create(titled("two")); len(created.Warnings) > 0 {
		t.Errorf("an ignored one is warned of: %q", created.Warnings)
	}
	l.home = filepath.Join(l.dir, ".git", "trees")
	if created := l.create(titled("three")); len(created.Warnings) > 0 {
		t.Errorf("one in the git directory is warned of: %q", created.Warnings)
	}
}
