package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestMergesWhileSomebodyCommits merges again and again while a person commits
// to the target, in its checkout, in a loop: each commit is on the target in
// the end, with its own files and no other.
func TestMergesWhileSomebodyCommits(t *testing.T) {
	t.Parallel()
	merges := 60
	if testing.Short() {
		merges = 20
	}
	l := newMergeLab(t)
	l.w.BranchCreated = true
	stop := make(chan struct{})
	var person sync.WaitGroup
	committed := 0
	person.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(n*37%150) * time.Millisecond):
			}
			name := fmt.Sprintf("person%d", n)
			if err := os.WriteFile(filepath.Join(l.dir, name), []byte(name+"\n"), 0o600); err != nil {
				t.Error(err)
				return
			}
			// The index may be locked for a moment, as by any git command.
			for {
				if _, err := l.tryGit(l.dir, "add", "--", name); err != nil {
					continue
				}
				if _, err := l.tryGit(l.dir, "commit", "-q", "-m", "person "+name, "--", name); err == nil {
					break
				}
			}
			committed++
		}
	})
	for n := range merges {
		for part := range 3 {
			l.commit(l.x, fmt.Sprintf("agent%d/%d", n, part), "a\n", fmt.Sprintf("agent agent%d/%d", n, part))
		}
		s := strategies[n%3]
		merged, err := l.try(by(s))
		for tries := 0; workspace.CodeOf(err) == workspace.ErrNotFastForward || workspace.CodeOf(err) == workspace.ErrLocked; tries++ {
			if tries == 50 {
				t.Fatal(detail(err))
			}
			merged, err = l.try(by(s))
		}
		if err != nil {
			t.Fatalf("merge %d by %s: %v", n, s, detail(err))
		}
		if merged.Dropped > 0 || len(merged.Warnings) > 0 {
			t.Errorf("merge %d: %+v", n, merged)
		}
	}
	close(stop)
	person.Wait()
	l.tidy()
	l.wantOwnFiles(merges, committed)
	if got := l.git("status", "--porcelain"); got != "" {
		t.Errorf("main's status: %s", got)
	}
}

// wantOwnFiles wants each commit of main to have its own files and no other.
func (l *mergeLab) wantOwnFiles(merges, committed int) {
	l.t.Helper()
	person, agent := 0, 0
	for record := range strings.SplitSeq(l.git("log", "--no-merges", "-z", "--name-only", "--format=%x01%s", "main"), "\x01") {
		lines := strings.FieldsFunc(record, func(r rune) bool { return r == '\x00' || r == '\n' })
		if len(lines) == 0 {
			continue
		}
		subject, files := lines[0], lines[1:]
		switch {
		case strings.HasPrefix(subject, "person "):
			if person++; len(files) != 1 || "person "+files[0] != subject {
				l.t.Errorf("%q has %q", subject, files)
			}
		default:
			for _, file := range files {
				if strings.HasPrefix(file, "person") {
					l.t.Errorf("%q has %q", subject, files)
				}
				if strings.HasPrefix(file, "agent") {
					agent++
				}
			}
		}
	}
	if person != committed || agent != 3*merges {
		l.t.Errorf("main has %d commits of the person's, who made %d, and %d files of the agent's, of %d", person, committed, agent, 3*merges)
	}
	if got := len(strings.Fields(l.git("ls-tree", "-r", "--name-only", "main"))); got != 2+committed+3*merges {
		l.t.Errorf("main has %d files, want %d", got, 2+committed+3*merges)
	}
}
