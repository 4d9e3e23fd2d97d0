package gitops

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"sync"
	"time"
)

const (
	// readerKept is how long a reader of objects waits for the next who needs
	// one: a preview is followed by its merge.
	readerKept = 15 * time.Second
	// readersKept is how many wait, of as many repositories.
	readersKept = 4
)

// readers keeps, of each repository, the process that has read objects last: to
// start one takes longer than most of what it is asked for. It reads alone, and
// ends when its pipe closes, as it does with this process; so it holds no lock
// of those who use it.
type readers struct {
	mu   sync.Mutex
	idle map[string]*keptReader
}

// keptReader is one that waits.
type keptReader struct {
	*objectReader
	// print stands for what git has read once and goes by since.
	print [sha256.Size]byte
	going *time.Timer
}

// openObjects returns a reader of the repository's objects, for one goroutine.
// It ends with ctx; close gives it up.
func (r *Repository) openObjects(ctx context.Context, common string) (*objectReader, error) {
	begun := time.Now()
	print, seen, ok := printOf(readOnce(common))
	o := r.readers.take(common, print)
	if o == nil {
		process, end := context.WithCancel(context.WithoutCancel(ctx))
		var err error
		o, err = openObjects(process, r.git, command{
			dir: common, env: []string{"GIT_DIR=" + common}, args: []string{"cat-file", "--batch-command", "--buffer"},
		})
		if err != nil {
			end()
			return nil, err
		}
		o.end = end
	}
	unhook := context.AfterFunc(ctx, o.end)
	o.giveUp = func() {
		if !unhook() || !ok || !seen.settled(begun) || !localFiles(common) || !o.restful() {
			o.stop()
			return
		}
		r.readers.keep(common, o, print)
	}
	return o, nil
}

// readOnce are the files by which git judges objects, and that it reads when it
// starts.
func readOnce(common string) []string {
	var files []string
	for _, name := range []string{"config", "objects/info/alternates", "shallow", "info/grafts", "refs/replace", "packed-refs"} {
		files = append(files, filepath.Join(common, name))
	}
	return files
}

// take returns the reader that waits, nil if there is none that is of use.
func (k *readers) take(common string, print [sha256.Size]byte) *objectReader {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.idle[common]
	if kept == nil {
		return nil
	}
	delete(k.idle, common)
	if kept.going.Stop(); kept.print != print || kept.over() {
		kept.stop()
		return nil
	}
	return kept.objectReader
}

// keep has a reader wait, unless another does, or enough.
func (k *readers) keep(common string, o *objectReader, print [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.idle[common] != nil || len(k.idle) == readersKept {
		o.stop()
		return
	}
	if k.idle == nil {
		k.idle = make(map[string]*keptReader)
	}
	kept := &keptReader{objectReader: o, print: print}
	kept.going = time.AfterFunc(readerKept, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.idle[common] == kept {
			delete(k.idle, common)
			kept.stop()
		}
	})
	k.idle[common] = kept
}
