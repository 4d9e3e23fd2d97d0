package gitops

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// settle waits until a later change of a file has a later time for certain.
func settle() { time.Sleep(raceMargin + 20*time.Millisecond) }

// reader is a use of a reader that reads the commit of HEAD.
func (f *fixture) reader() (o *objectReader, message string) {
	f.t.Helper()
	o, err := f.r.openObjects(f.t.Context(), filepath.Join(f.dir, ".git"))
	if err != nil {
		f.t.Fatal(err)
	}
	data, err := o.get("commit", f.git("rev-parse", "HEAD"))
	if err != nil {
		f.t.Fatal(err)
	}
	_, text, _ := bytes.Cut(data, []byte("\n\n"))
	return o, strings.TrimSpace(string(text))
}

// again uses a reader twice, and returns whether it was one process.
func (f *fixture) again(message string) bool {
	f.t.Helper()
	first, _ := f.reader()
	first.close()
	second, got := f.reader()
	second.close()
	if got != message {
		f.t.Errorf("HEAD is %q, want %q", got, message)
	}
	return second == first
}

// TestReaderIsUsedAgain does what happens in a repository between two uses.
func TestReaderIsUsedAgain(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	if !localFiles(f.dir) {
		t.Skip("the file system is none of which a change can be seen for certain")
	}
	settle()
	first, _ := f.reader()
	first.close()
	for _, between := range []struct {
		name, script string
		// anew is true where git would go by something else.
		anew    bool
		message string
	}{
		{"nothing", ``, false, "init"},
		{"a commit", `echo more >>f; git commit -qam more`, false, "more"},
		{"all objects packed", `git repack -qad`, false, "more"},
		{"a replacement", `git replace HEAD $(git commit-tree -m instead HEAD^{tree})`, true, "instead"},
		{"another replacement", `git replace -f HEAD $(git commit-tree -m other HEAD^{tree})`, true, "other"},
		{"refs packed", `git pack-refs --all`, true, "other"},
		{"no replacement", `git replace -d HEAD`, true, "more"},
		{"the configuration", `git config a.b c`, true, "more"},
		{"another repository in its place", `cd ..; rm -rf repo; git init -q -b main repo; cd repo; git commit -q --allow-empty -m anew`, true, "anew"},
	} {
		f.sh(between.script)
		o, got := f.reader()
		if got != between.message {
			t.Errorf("after %s HEAD is %q, want %q", between.name, got, between.message)
		}
		if o == first == between.anew {
			t.Errorf("after %s: a process anew is %v, want %v", between.name, o != first, between.anew)
		}
		o.close()
		settle()
		first, _ = f.reader()
		first.close()
	}
}

// TestReaderThatFailedIsNotUsedAgain ends readers in the ways in which one can
// end.
func TestReaderThatFailedIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	common := filepath.Join(f.dir, ".git")
	settle()
	for name, use := range map[string]func(ctx context.Context, cancel func(), o *objectReader){
		"another type": func(_ context.Context, _ func(), o *objectReader) {
			if _, err := o.get("commit", f.git("rev-parse", "HEAD^{tree}")); err == nil {
				t.Error("a tree is a commit")
			}
		},
		"half an answer": func(_ context.Context, _ func(), o *objectReader) {
			if _, err := o.in.WriteString(asking("HEAD", "HEAD")); err != nil {
				t.Error(err)
			}
			if _, err := o.out.ReadByte(); err != nil {
				t.Error(err)
			}
		},
		"cancelled": func(ctx context.Context, cancel func(), o *objectReader) {
			cancel()
			<-ctx.Done()
			if _, err := o.get("commit", "HEAD"); err == nil {
				<-o.ended // it was faster
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		},
		"ended": func(_ context.Context, _ func(), o *objectReader) {
			o.close()
			o.end() // as a kill by somebody else does, while it waits
			err := <-o.ended
			ended := make(chan error, 1)
			ended <- err
			o.ended = ended
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		o, err := f.r.openObjects(ctx, common)
		if err != nil {
			t.Fatal(err)
		}
		if use(ctx, cancel, o); name != "ended" {
			o.close()
		}
		if !f.again("init") {
			t.Errorf("%s: the next reader isn't used again", name)
		}
		if next, _ := f.reader(); next == o {
			t.Errorf("%s: the reader is used again", name)
		} else {
			next.close()
		}
		cancel()
	}
}

// TestReadersAtOnce has as many readers as there are who read.
func TestReadersAtOnce(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	settle()
	head := f.git("rev-parse", "HEAD")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				o, err := f.r.openObjects(t.Context(), filepath.Join(f.dir, ".git"))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := o.get("commit", head); err != nil {
					t.Error(err)
				}
				o.close()
			}
		})
	}
	group.Wait()
	if waiting := len(f.r.readers.idle); waiting != 1 {
		t.Errorf("%d readers wait", waiting)
	}
}
