package gitops

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// asAnother runs what also starts programs with another user's rights. For
// root they are given up for the one thread, which ends with the call.
func asAnother(t *testing.T, run func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		run()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread is of no further use
		const nobody = 65534
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); err != 0 {
			t.Error(err)
			return
		}
		run()
	}()
	<-done
}

// TestCreateThatMayNotWrite has a directory that can't be written to: git says
// so in words alone.
func TestCreateThatMayNotWrite(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(l *lab, p *Provider) string{
		"branches": func(l *lab, _ *Provider) string { return filepath.Join(l.dir, ".git", "refs", "heads") },
		"entries":  func(l *lab, _ *Provider) string { return filepath.Join(l.dir, ".git", "worktrees") },
		"home":     func(l *lab, p *Provider) string { return p.r.worktreesDir(l.project()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write(filepath.Join(l.root, ".gitconfig"), "[safe]\n\tdirectory = *\n")
			l.create(titled("first"))
			p := l.provider()
			closed := path(l, p)
			for dir := filepath.Dir(l.root); dir != "/"; dir = parentOf(dir) {
				info, err := os.Stat(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, info.Mode()|0o055); err != nil {
					t.Fatal(err)
				}
			}
			err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					err = os.Chmod(path, 0o777)
				} else if err == nil {
					err = os.Chmod(path, 0o666)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(closed, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
			req := l.request(exactly(t, "second"))
			asAnother(t, func() { _, err = p.Create(context.WithoutCancel(t.Context()), req) })
			wantCode(t, err, workspace.ErrPermissionDenied)
			if err != nil && !strings.Contains(err.Error(), closed) {
				t.Errorf("%v doesn't name %s", err, closed)
			}
		})
	}
}
