package gitops

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// privateDir is the directory of ours in the common git directory.
const privateDir = "threadtree"

// repoLocks are the locks on repositories: while one is held, no other of our
// processes changes the list of worktrees or a branch. git itself fails where
// one process lists worktrees while another's entry is half written.
type repoLocks struct {
	mu    sync.Mutex
	queue map[string]chan struct{}
}

// repoLock is the held lock of one repository.
type repoLock struct {
	file  *os.File
	queue chan struct{}
}

// acquire waits for the lock of the repository with that common directory,
// until ctx ends.
func (l *repoLocks) acquire(ctx context.Context, commonDir string) (*repoLock, error) {
	queue := l.queueOf(commonDir)
	select {
	case queue <- struct{}{}:
	case <-ctx.Done():
		return nil, failure("", "the repository's lock could not be had; nothing was changed", "try again", ctx.Err())
	}
	file, err := waitForFile(ctx, filepath.Join(commonDir, privateDir, "lock"))
	if err != nil {
		<-queue
		return nil, failure("", "the repository's lock could not be had; nothing was changed", "try again", err)
	}
	return &repoLock{file: file, queue: queue}, nil
}

func (l *repoLocks) queueOf(commonDir string) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue == nil {
		l.queue = make(map[string]chan struct{})
	}
	q, ok := l.queue[commonDir]
	if !ok {
		q = make(chan struct{}, 1)
		l.queue[commonDir] = q
	}
	return q
}

func waitForFile(ctx context.Context, path string) (*os.File, error) {
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	for {
		file, err := openLocked(path, os.O_CREATE)
		if !errors.Is(err, errLockBusy) {
			return file, err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(4*time.Millisecond)):
		case <-ctx.Done():
			return nil, &workspace.Error{
				Code:    workspace.ErrTimeout,
				Message: "another process holds the repository's lock; nothing was changed",
				Hint:    "try again when it has finished",
				Err:     ctx.Err(),
			}
		}
	}
}

// inherit is the open file that children must inherit, so that a git which
// outlives us still holds the lock.
func (l *repoLock) inherit() []*os.File { return []*os.File{l.file} }

// release gives the lock up. Children of ours have ended by then.
func (l *repoLock) release() {
	closeUnlocked(l.file)
	<-l.queue
}
