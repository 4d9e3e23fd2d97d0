package gitops

import (
	"context"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// asNobody runs what only reads files with another user's rights to them. For
// root they are given up for the one thread, which ends with the call.
func asNobody(t *testing.T, run func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		run()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: the thread is of no further use
		if err := unix.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		run()
	}()
	<-done
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, path string }{
		{"the directory", "repo"},
		{"the git directory", "repo/.git"},
		{"HEAD", "repo/.git/HEAD"},
		{"the configuration", "repo/.git/config"},
		{"a directory above", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			for dir := f.root; dir != "/"; dir = parentOf(dir) {
				info, err := os.Stat(dir)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(dir, info.Mode()|0o055); err != nil {
					t.Fatal(err)
				}
			}
			path := f.path(test.path)
			if err := os.Chmod(path, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
			ctx := context.WithoutCancel(t.Context())
			var openErr, inspectErr error
			asNobody(t, func() {
				_, openErr = f.r.Open(ctx, f.dir)
				_, _, inspectErr = f.r.Inspect(ctx, f.dir)
			})
			wantCode(t, openErr, workspace.ErrPermissionDenied)
			wantCode(t, inspectErr, workspace.ErrPermissionDenied)
		})
	}
}
