package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// codes are the error codes that the life cycle can answer with, each with
// the request that leads to it on real git and a real database, and whether
// that request must leave everything as it was. TestCodes runs them all.
var codes = map[workspace.Code]func(t *testing.T, p *parts) error{
	workspace.ErrNotFound: func(t *testing.T, p *parts) error {
		_, err := p.Get(t.Context(), "nobody")
		return err
	},
	workspace.ErrAlreadyExists: func(t *testing.T, p *parts) error {
		w, err := p.tryCreate(t, "1", typed("something-else"))
		if w.Branch != "threadtree/thread-1" {
			t.Errorf("the workspace in hand is %+v", w)
		}
		return err
	},
	workspace.ErrInProgress: func(t *testing.T, p *parts) error {
		return whilePending(t, p, func(ctx context.Context) error {
			_, err := p.Create(ctx, workspace.CreateOptions{Project: p.project, ThreadID: "slow"})
			return err
		})
	},
	workspace.ErrNotReady: func(t *testing.T, p *parts) error {
		return whilePending(t, p, func(ctx context.Context) error {
			_, err := p.Resolve(ctx, "slow", p.project)
			return err
		})
	},
	workspace.ErrInvalidName: func(t *testing.T, p *parts) error {
		_, err := p.tryCreate(t, "2", branch("a..b"))
		return err
	},
	workspace.ErrInvalidRef: func(t *testing.T, p *parts) error {
		_, err := p.tryCreate(t, "2", base("--orphan"))
		return err
	},
	workspace.ErrNotARepository: func(t *testing.T, p *parts) error {
		_, err := p.Create(t.Context(), workspace.CreateOptions{Project: t.TempDir(), ThreadID: "2"})
		return err
	},
	workspace.ErrNoCommits: func(t *testing.T, p *parts) error {
		empty := t.TempDir()
		git(t, empty, "init", "-q")
		_, err := p.Create(t.Context(), workspace.CreateOptions{Project: empty, ThreadID: "2"})
		return err
	},
	workspace.ErrBranchCheckedOut: func(t *testing.T, p *parts) error {
		_, err := p.tryCreate(t, "2", typed("thread-1"))
		if err == nil || !strings.Contains(err.Error(), "thread 1 works there") {
			t.Errorf("%v doesn't name the thread", err)
		}
		return err
	},
	workspace.ErrDirtyWorktree: func(t *testing.T, p *parts) error {
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			return err
		}
		write(t, filepath.Join(w.Directory, "new"), "work\n")
		return deleteOf(t, p, "1")
	},
	workspace.ErrUnmerged: func(t *testing.T, p *parts) error {
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			return err
		}
		git(t, w.Directory, "commit", "-q", "--allow-empty", "-m", "empty")
		write(t, filepath.Join(w.Directory, "new"), "work\n")
		git(t, w.Directory, "add", ".")
		git(t, w.Directory, "commit", "-q", "-m", "work")
		return deleteOf(t, p, "1")
	},
	workspace.ErrLocked: func(t *testing.T, p *parts) error {
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			return err
		}
		git(t, p.project, "worktree", "lock", "--reason", "a reason", w.Directory)
		err = deleteOf(t, p, "1")
		if err == nil || !strings.Contains(err.Error(), "a reason") {
			t.Errorf("%v doesn't give the reason", err)
		}
		return err
	},
	workspace.ErrOperationInProgress: func(t *testing.T, p *parts) error {
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			return err
		}
		git(t, w.Directory, "bisect", "start")
		return deleteOf(t, p, "1")
	},
	workspace.ErrTargetNotFound: func(t *testing.T, p *parts) error {
		_, err := p.tryCreate(t, "2", base("no-such-branch"))
		return err
	},
	workspace.ErrGitFailed: func(t *testing.T, p *parts) error {
		// The tree that the commit names is gone: git can't check it out.
		blob := git(t, p.project, "rev-parse", "HEAD:file")
		if err := os.Remove(filepath.Join(p.project, ".git", "objects", blob[:2], blob[2:])); err != nil {
			return err
		}
		_, err := p.tryCreate(t, "2")
		return err
	},
	workspace.ErrTimeout: func(t *testing.T, p *parts) error {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.Create(ctx, workspace.CreateOptions{
			Project: p.project, ThreadID: "2",
			Progress: func(e workspace.Event) {
				if e.Phase == workspace.PhaseCheckout {
					cancel()
				}
			},
		})
		return err
	},
	workspace.ErrProviderUnavailable: func(t *testing.T, p *parts) error {
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			return err
		}
		if _, err := p.store.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(w), workspace.Change{Provider: new("elsewhere")}); err != nil {
			return err
		}
		return deleteOf(t, p, "1")
	},
	workspace.ErrStoreFailed: func(t *testing.T, p *parts) error {
		if err := p.store.Close(); err != nil {
			return err
		}
		_, err := p.Get(t.Context(), "1")
		return err
	},
	workspace.ErrPermissionDenied: func(t *testing.T, p *parts) error {
		if os.Getuid() == 0 {
			// Git refuses a repository of somebody else's.
			if err := os.Chown(filepath.Join(p.project, ".git"), 12345, 12345); err != nil {
				return err
			}
		} else {
			if err := os.Chmod(filepath.Join(p.project, ".git"), 0); err != nil {
				return err
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(p.project, ".git"), 0o755) })
		}
		_, err := p.tryCreate(t, "2")
		return err
	},
	workspace.ErrDirectoryExists: func(t *testing.T, p *parts) error {
		other := build(t, settings{project: p.project, home: filepath.Join(t.TempDir(), "home"), db: filepath.Join(t.TempDir(), "db")})
		if err := os.MkdirAll(other.home, 0o755); err != nil {
			return err
		}
		write(t, filepath.Join(other.home, "worktrees"), "a file\n")
		_, err := other.tryCreate(t, "2")
		return err
	},
	workspace.ErrInternal: func(t *testing.T, p *parts) error {
		_, err := workspace.NewManager(workspace.Config{})
		return &workspace.Error{Code: workspace.CodeOf(err), Err: err, Hint: "the configuration is a programmer's"}
	},
}

func deleteOf(t *testing.T, p *parts, thread string) error {
	t.Helper()
	_, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread})
	return err
}

// whilePending calls f while the workspace of the thread "slow" is being made.
func whilePending(t *testing.T, p *parts, f func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	begin := sync.OnceFunc(func() { close(began) })
	go func() {
		_, err := p.Create(ctx, workspace.CreateOptions{
			Project: p.project, ThreadID: "slow",
			Progress: func(e workspace.Event) {
				if e.Phase == workspace.PhaseCheckout {
					begin()
					<-done
				}
			},
		})
		ended <- err
	}()
	<-began
	err := f(ctx)
	close(done)
	if createErr := <-ended; createErr != nil {
		t.Errorf("the create that was under way failed: %v", createErr)
	}
	return err
}

// TestCodes reaches each error code of the life cycle on real git and a real
// database.
func TestCodes(t *testing.T) {
	t.Parallel()
	for code, reach := range codes {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			p := build(t, settings{})
			p.create(t, "1")
			wantCode(t, reach(t, p), code)
		})
	}
}
