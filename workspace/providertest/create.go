package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/threadtree/threadtree/workspace"
)

func testName(f *fixture) {
	if name := f.Provider.Name(); name == "" || name != f.Provider.Name() {
		f.Errorf("the name is %q", name)
	}
}

func testCreate(f *fixture) {
	var claimed []workspace.Plan
	before := f.state()
	req := f.request(title("Fix the login"))
	req.Claim = func(_ context.Context, plan workspace.Plan) error {
		claimed = append(claimed, plan)
		if f.PlaceLater && len(claimed) == 2 {
			return nil // looked at below
		}
		f.unchanged(before)
		if f.PlaceLater {
			if plan.Directory != "" || plan.ProviderID == "" {
				f.Errorf("%+v was claimed before anything was made", plan)
			}
		} else if _, err := os.Lstat(plan.Directory); !errors.Is(err, os.ErrNotExist) {
			f.Errorf("%q was made before it was claimed", plan.Directory)
		}
		return nil
	}
	created, err := f.Provider.Create(f.Context(), req)
	if err != nil {
		f.Fatal(detail(err))
	}
	want := 1
	if f.PlaceLater {
		want = 2
	}
	if len(claimed) != want {
		f.Fatalf("%d claims were made, want %d", len(claimed), want)
	}
	last, plan := claimed[want-1], created.Plan
	if first := claimed[0]; first.Branch != last.Branch || first.ProviderID != last.ProviderID || first.BaseCommit != last.BaseCommit {
		f.Errorf("%+v was claimed first and %+v then", first, last)
	}
	if last.Branch != plan.Branch || last.Directory != plan.Directory || last.BranchCreated != plan.BranchCreated {
		f.Errorf("%+v was claimed and %+v was made", last, plan)
	}
	if plan.Branch != req.Name.Branch || !plan.BranchCreated || plan.Base != f.branch || plan.BaseCommit != f.head {
		f.Errorf("made %+v, want the branch %s from %s at %s", plan, req.Name.Branch, f.branch, f.head)
	}
	f.whole(f.row(req, plan, created.Provider))
	if tip := f.tip(plan.Branch); tip != f.head {
		f.Errorf("the branch stands at %s, want %s", tip, f.head)
	}
}

func testBase(f *fixture) {
	f.git(f.dir, "tag", "v1")
	f.git(f.dir, "branch", "dev")
	f.commit(f.dir, "later", "later\n")
	for _, base := range []string{"v1", "dev", f.head} {
		w := f.create(title("from "+base), func(r *workspace.CreateRequest) { r.Base = base })
		if w.BaseCommit != f.head || f.tip(w.Branch) != f.head {
			f.Errorf("%s: made from %s, want %s", base, w.BaseCommit, f.head)
		}
		f.whole(w)
	}
}

func testRefusedBase(f *fixture) {
	for base, code := range map[string]workspace.Code{
		"--lock": workspace.ErrInvalidRef, "a..b": workspace.ErrInvalidRef, "HEAD~1": workspace.ErrInvalidRef,
		"nowhere": workspace.ErrTargetNotFound,
	} {
		f.refused(f.request(title("one"), func(r *workspace.CreateRequest) { r.Base = base }), code)
	}
}

func testNoCommits(f *fixture) {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.git(dir, "init", "-q")
	req := f.request(title("one"), func(r *workspace.CreateRequest) {
		r.Project = workspace.Project{ID: filepath.Join(dir, ".git"), Directory: dir, TopLevel: dir, Name: "empty"}
	})
	_, err = f.Provider.Create(f.Context(), req)
	f.hasCode(err, workspace.ErrNoCommits)
}

// existing makes a branch with a commit of its own and returns that.
func (f *fixture) existing(branch string) string {
	f.Helper()
	f.git(f.dir, "switch", "-q", "-c", branch)
	tip := f.commit(f.dir, "work", "on "+branch+"\n")
	f.git(f.dir, "switch", "-q", f.branch)
	return tip
}

func testTitle(f *fixture) {
	name := title("one")
	tip := f.existing(name.Branch)
	w := f.create(name)
	if w.Branch == name.Branch || !w.BranchCreated {
		f.Errorf("a derived name joined an existing branch: %+v", w)
	}
	if now := f.tip(name.Branch); now != tip {
		f.Errorf("the existing branch was moved from %s to %s", tip, now)
	}
	f.whole(w)
}

func testTyped(f *fixture) {
	name := f.typed("one")
	tip := f.existing(name.Branch)
	w := f.create(name)
	if w.Branch != name.Branch || w.BranchCreated {
		f.Errorf("the existing branch was not attached: %+v", w)
	}
	if now := f.tip(name.Branch); now != tip {
		f.Errorf("the existing branch was moved from %s to %s", tip, now)
	}
	f.whole(w)
}

func testExact(f *fixture) {
	w := f.create(f.exact("feature/Some_Thing"))
	if w.Branch != "feature/Some_Thing" || !w.BranchCreated {
		f.Errorf("made %+v", w)
	}
	f.whole(w)
	f.refused(f.request(f.exact("feature")), workspace.ErrAlreadyExists)
}

func testCheckedOut(f *fixture) {
	f.refused(f.request(f.exact(f.branch)), workspace.ErrBranchCheckedOut)
	w := f.create(f.typed("one"))
	f.refused(f.request(f.typed("one")), workspace.ErrBranchCheckedOut)
	f.whole(w)
}

// testDirectory puts files where a workspace was, and asks for it again.
func testDirectory(f *fixture) {
	w := f.create(title("one"))
	f.removes(w)
	note := filepath.Join(w.Directory, "note")
	f.write(note, "kept\n")
	again := f.create(title("one"))
	if again.Directory == w.Directory {
		f.Errorf("made in a directory with files of somebody else's")
	}
	if content, err := os.ReadFile(note); string(content) != "kept\n" {
		f.Errorf("the note is %q: %v", content, err)
	}
	f.whole(again)
}

func testClaimTaken(f *fixture) {
	taken := &workspace.Error{Code: workspace.ErrAlreadyExists, Message: "another thread has it"}
	calls := 0
	w, err := f.planned(f.Context(), f.request(title("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(context.Context, workspace.Plan) error {
			if calls++; calls == 1 {
				return taken
			}
			return nil
		}
	}))
	if err != nil {
		// To give up is allowed as well.
		f.hasCode(err, workspace.ErrAlreadyExists)
		return
	}
	if w.Branch == title("one").Branch || f.tip(title("one").Branch) != "" {
		f.Errorf("made what was refused: %+v", w)
	}
	f.whole(w)
}

func testClaimFails(f *fixture) {
	failed := &workspace.Error{Code: workspace.ErrStoreFailed, Message: "the store is gone"}
	calls := 0
	f.refused(f.request(title("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(context.Context, workspace.Plan) error {
			calls++
			return failed
		}
	}), workspace.ErrStoreFailed)
	if calls != 1 {
		f.Errorf("claimed %d times, want 1", calls)
	}
}

func testCancelled(f *fixture) {
	before := f.state()
	ctx, cancel := context.WithCancel(f.Context())
	w, err := f.planned(ctx, f.request(title("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(context.Context, workspace.Plan) error {
			cancel()
			return nil
		}
	}))
	if err == nil {
		f.Fatal("no error although the context ended")
	}
	if !errors.Is(err, context.Canceled) && workspace.CodeOf(err) != workspace.ErrTimeout {
		f.Errorf("got %s", detail(err))
	}
	if err := f.Provider.Complete(f.Context(), f.Project, w); err == nil {
		f.Error("it is complete")
	}
	f.clear(w)
	f.unchanged(before)
}

func testConcurrent(f *fixture) {
	const n = 8
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		plans = make(map[string]workspace.Plan)
		rows  = make([]workspace.Workspace, n)
	)
	for i := range n {
		group.Go(func() {
			thread := fmt.Sprintf("thread-%d", i)
			w, err := f.planned(f.Context(), f.request(title("one"), func(r *workspace.CreateRequest) {
				r.ThreadID, r.Attempt = thread, "attempt-"+thread
				r.Claim = func(_ context.Context, plan workspace.Plan) error {
					mu.Lock()
					defer mu.Unlock()
					for other, p := range plans {
						if other != thread && (p.Branch == plan.Branch || p.Directory == plan.Directory && p.Directory != "") {
							return &workspace.Error{Code: workspace.ErrAlreadyExists, Message: "claimed"}
						}
					}
					plans[thread] = plan
					return nil
				}
			}))
			if err != nil {
				f.Error(detail(err))
			}
			rows[i] = w
		})
	}
	group.Wait()
	if f.Failed() {
		return
	}
	for _, w := range rows {
		f.whole(w)
	}
}
