package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// elsewhere makes a worktree as another program does: in a place of its own,
// with a detached HEAD unless args say otherwise.
func (l *lab) elsewhere(name string, args ...string) string {
	l.t.Helper()
	dir := filepath.Join(l.root, "elsewhere", name)
	if len(args) == 0 {
		args = []string{"--detach"}
	}
	l.run(l.dir, append([]string{"worktree", "add", "-q", dir}, args...)...)
	return dir
}

// take has the provider go on with a worktree that start makes, and returns
// the row that a manager would have, whatever became of it.
func (l *lab) take(ctx context.Context, req workspace.CreateRequest, start func(plan workspace.Plan) (string, error)) (workspace.Workspace, workspace.Created, error) {
	l.t.Helper()
	var plan workspace.Plan
	claim := req.Claim
	req.Claim = func(ctx context.Context, p workspace.Plan) error {
		plan = p
		return claim(ctx, p)
	}
	created, err := l.provider().Take(ctx, req, func(_ context.Context, p workspace.Plan) (string, error) {
		if p.Directory != "" || p.Branch == "" {
			l.t.Errorf("begun with the plan %+v", p)
		}
		return start(p)
	})
	if err == nil {
		plan = created.Plan
	}
	return rowOf(req, plan), created, err
}

// takes is a take that must succeed, with a detached worktree.
func (l *lab) takes(req workspace.CreateRequest) (workspace.Workspace, workspace.Created) {
	l.t.Helper()
	w, created, err := l.take(l.t.Context(), req, func(workspace.Plan) (string, error) { return l.elsewhere("made"), nil })
	if err != nil {
		l.t.Fatal(detail(err))
	}
	if err := l.provider().Complete(l.t.Context(), req.Project, w); err != nil {
		l.t.Error(detail(err))
	}
	if head := l.run(w.Directory, "symbolic-ref", "HEAD"); head != "refs/heads/"+w.Branch {
		l.t.Errorf("HEAD is %s, not on %s", head, w.Branch)
	}
	if status := l.run(w.Directory, "status", "--porcelain"); status != "" {
		l.t.Errorf("it is not clean: %s", status)
	}
	return w, created
}

// clears has the provider clear what is on record, and what a program made at
// directory besides, and wants branches and worktrees as they were.
func (l *lab) clears(w workspace.Workspace, directory, before string) {
	l.t.Helper()
	p := l.provider()
	if w.Directory == "" && directory != "" {
		attempt := workspace.Attempt{ID: w.Attempt.ID, StartedAt: time.Now().Add(-time.Minute)}
		if err := p.Own(l.t.Context(), l.project(), directory, attempt); err != nil {
			l.t.Fatal(detail(err))
		}
		w.Directory = directory
	}
	for range 2 {
		if left, err := p.Clear(l.t.Context(), l.project(), w); err != nil || len(left) > 0 {
			l.t.Errorf("left %q, %s", left, detail(err))
		}
	}
	if after := l.heads(); after != before {
		l.t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
	}
	if directory != "" && exists(directory) {
		l.t.Errorf("%s is still there", directory)
	}
}

// heads is all that git has of branches and worktrees.
func (l *lab) heads() string {
	l.t.Helper()
	return l.run(l.dir, "for-each-ref") + "\n" + l.run(l.dir, "worktree", "list", "--porcelain")
}

func TestTakeNewBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	base := l.run(l.dir, "rev-parse", "HEAD")
	l.commit(l.dir, "later", "later\n")
	before := l.heads()
	w, _ := l.takes(l.request(titled("one"), from(base)))
	if !w.BranchCreated || w.BaseCommit != base || exists(filepath.Join(w.Directory, "later")) {
		t.Errorf("%+v", w)
	}
	l.isTip(w.Branch, base)
	if ref := l.run(l.dir, "reflog", "show", "--format=%gs", w.Branch); !strings.Contains(ref, "Created from") {
		t.Errorf("the branch's log is %q", ref)
	}
	l.clears(w, w.Directory, before)
}

func TestTakeExistingBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "switch", "-q", "-c", "feature")
	tip := l.commit(l.dir, "work", "work\n")
	l.run(l.dir, "switch", "-q", "main")
	before := l.heads()
	w, created := l.takes(l.request(exactly(t, "feature")))
	if w.BranchCreated || !warned(created.Warnings, "feature", "attached") || !exists(filepath.Join(w.Directory, "work")) {
		t.Errorf("%+v, %q", w, created.Warnings)
	}
	l.isTip("feature", tip)
	l.clears(w, w.Directory, before)
	l.isTip("feature", tip)
}

// TestTakeBranchThatTheOtherMade has who makes the worktree make the branch
// with it, from somewhere else than is asked for.
func TestTakeBranchThatTheOtherMade(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	base := l.run(l.dir, "rev-parse", "HEAD")
	l.commit(l.dir, "later", "later\n")
	before := l.heads()
	w, _, err := l.take(t.Context(), l.request(titled("one"), from(base)), func(p workspace.Plan) (string, error) {
		return l.elsewhere("made", "-b", p.Branch), nil
	})
	if err != nil {
		t.Fatal(detail(err))
	}
	l.isTip(w.Branch, base)
	if exists(filepath.Join(w.Directory, "later")) || l.run(w.Directory, "status", "--porcelain") != "" {
		t.Error("the files are not those of the base")
	}
	l.clears(w, w.Directory, before)
}

func TestTakeRefusedBeforehand(t *testing.T) {
	t.Parallel()
	hooks := func(l *lab) {
		l.hook(filepath.Join(l.dir, ".githooks", "post-checkout"), "")
		l.run(l.dir, "add", ".")
		l.run(l.dir, "commit", "-q", "-m", "hooks")
		l.run(l.dir, "config", "core.hooksPath", ".githooks")
	}
	for name, c := range map[string]struct {
		name    workspace.Name
		base    string
		code    workspace.Code
		prepare func(l *lab)
	}{
		"checked out":   {name: exactly(t, "main"), code: workspace.ErrBranchCheckedOut},
		"clash":         {name: exactly(t, "main/sub"), code: workspace.ErrAlreadyExists},
		"no such base":  {name: titled("one"), base: "nowhere", code: workspace.ErrTargetNotFound},
		"hooks in tree": {name: titled("one"), code: workspace.ErrPermissionDenied, prepare: hooks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if c.prepare != nil {
				c.prepare(l)
			}
			req := l.request(c.name, from(c.base))
			req.Claim = func(context.Context, workspace.Plan) error { t.Error("it was claimed"); return nil }
			before := l.snapshot()
			_, _, err := l.take(t.Context(), req, func(workspace.Plan) (string, error) {
				t.Error("it was begun")
				return "", errors.ErrUnsupported
			})
			wantCode(t, err, c.code)
			if after := l.snapshot(); !slices.Equal(before, after) {
				t.Errorf("the disk was changed:\n%s", difference(before, after))
			}
		})
	}
	t.Run("hooks in tree, allowed", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		hooks(l)
		w, _, err := l.take(t.Context(), l.request(titled("one"), withSetup), func(workspace.Plan) (string, error) { return l.elsewhere("made"), nil })
		if err != nil || !exists(filepath.Join(w.Directory, "ran")) {
			t.Errorf("%+v, %s", w, detail(err))
		}
	})
}

// TestTakeOfWhatIsNotNew hands over what is not a new worktree of the project,
// which has to stay as it is, also when the attempt is cleared.
func TestTakeOfWhatIsNotNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(l *lab) string
		why  string
	}{
		"of another project": {why: "no worktree of it", make: func(l *lab) string {
			other := filepath.Join(l.root, "other")
			l.run(l.root, "init", "-q", "-b", "main", other)
			l.commit(other, "f", "x\n")
			l.run(other, "worktree", "add", "-q", "--detach", filepath.Join(l.root, "theirs"))
			return filepath.Join(l.root, "theirs")
		}},
		"the main checkout": {why: "no worktree of it", make: func(l *lab) string { return l.dir }},
		"a plain folder": {why: "no worktree of it", make: func(l *lab) string {
			dir := filepath.Join(l.root, "plain")
			l.write(filepath.Join(dir, "f"), "x\n")
			return dir
		}},
		"nothing": {why: "no worktree of it", make: func(l *lab) string { return filepath.Join(l.root, "nothing") }},
		"another attempt's": {why: "another attempt", make: func(l *lab) string {
			return l.made(titled("other"), func(r *workspace.CreateRequest) { r.Attempt = "another" }).Directory
		}},
		"a folder within": {why: "no worktree of it", make: func(l *lab) string {
			dir := filepath.Join(l.elsewhere("made"), "within")
			l.write(filepath.Join(dir, "f"), "x\n")
			return dir
		}},
		"one that was there": {why: "there before", make: func(l *lab) string {
			dir := l.elsewhere("old")
			long := time.Now().Add(-time.Hour)
			if err := os.Chtimes(filepath.Join(gitDirOf(dir), "commondir"), long, long); err != nil {
				l.t.Fatal(err)
			}
			l.write(filepath.Join(dir, "work"), "not committed\n")
			return dir
		}},
		"on another branch": {why: "it is on the branch user", make: func(l *lab) string { return l.elsewhere("made", "-b", "user") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			dir := c.make(l)
			before := l.heads()
			var files map[string]string
			if exists(dir) && dir != l.dir {
				files = snapshot(t, dir)
			}
			w, _, err := l.take(t.Context(), l.request(titled("one")), func(workspace.Plan) (string, error) { return dir, nil })
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("got %s, want it to say %q", detail(err), c.why)
			}
			if name == "on another branch" {
				return // It was made for the attempt all the same.
			}
			wantCode(t, err, workspace.ErrProviderFailed)
			if _, err := l.provider().Clear(t.Context(), l.project(), w); err != nil {
				t.Error(detail(err))
			}
			if err := l.provider().Own(t.Context(), l.project(), dir, workspace.Attempt{ID: "attempt-1", StartedAt: time.Now()}); files != nil && err == nil {
				t.Error("it was taken for the attempt's own")
			}
			if after := l.heads(); after != before {
				t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
			}
			if files != nil {
				wantSame(t, dir, files)
			}
		})
	}
}

func TestTakeThatFails(t *testing.T) {
	t.Parallel()
	failed := errors.New("out of order")
	t.Run("nothing made", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		before := l.heads()
		w, _, err := l.take(t.Context(), l.request(titled("one")), func(workspace.Plan) (string, error) { return "", failed })
		if !errors.Is(err, failed) {
			t.Errorf("got %s", detail(err))
		}
		l.clears(w, "", before)
	})
	t.Run("made and not told", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		before, dir := l.heads(), ""
		w, _, err := l.take(t.Context(), l.request(titled("one")), func(workspace.Plan) (string, error) {
			dir = l.elsewhere("made")
			l.write(filepath.Join(dir, "half"), "x\n")
			return "", failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %s", detail(err))
		}
		l.clears(w, dir, before)
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		before, dir := l.heads(), ""
		ctx, cancel := context.WithCancel(t.Context())
		w, _, err := l.take(ctx, l.request(titled("one")), func(workspace.Plan) (string, error) {
			dir = l.elsewhere("made")
			cancel()
			return dir, nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %s", detail(err))
		}
		l.clears(w, dir, before)
	})
	t.Run("directory claimed by another", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		before, dir, calls := l.heads(), "", 0
		req := l.request(titled("one"))
		taken := &workspace.Error{Code: workspace.ErrAlreadyExists, Message: "taken"}
		req.Claim = func(_ context.Context, p workspace.Plan) error {
			if calls++; p.Directory != "" {
				return taken
			}
			return nil
		}
		w, _, err := l.take(t.Context(), req, func(workspace.Plan) (string, error) { dir = l.elsewhere("made"); return dir, nil })
		if !errors.Is(err, workspace.ErrAlreadyExists) || calls != 2 {
			t.Errorf("got %s after %d claims", detail(err), calls)
		}
		w.Directory = ""
		l.clears(w, dir, before)
	})
	t.Run("branch checked out meanwhile", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.run(l.dir, "branch", "feature")
		dir := ""
		w, _, err := l.take(t.Context(), l.request(exactly(t, "feature")), func(workspace.Plan) (string, error) {
			l.elsewhere("theirs", "feature")
			dir = l.elsewhere("made")
			return dir, nil
		})
		if err == nil || !strings.Contains(err.Error(), "could not be put on its branch") {
			t.Errorf("got %s", detail(err))
		}
		before := strings.TrimSpace(strings.Split(l.heads(), "worktree "+dir+"\n")[0])
		if left, err := l.provider().Clear(t.Context(), l.project(), w); err != nil || len(left) > 0 || exists(dir) {
			t.Errorf("left %q, %s", left, detail(err))
		}
		if !strings.HasPrefix(before, strings.TrimSpace(l.run(l.dir, "for-each-ref"))) || !exists(filepath.Join(l.root, "elsewhere", "theirs", "f")) {
			t.Error("the worktree that has the branch was touched")
		}
	})
	t.Run("branch made meanwhile", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		dir, tip := "", ""
		w, _, err := l.take(t.Context(), l.request(titled("one")), func(p workspace.Plan) (string, error) {
			dir = l.elsewhere("made")
			theirs := l.elsewhere("theirs")
			tip = l.commit(theirs, "work", "work\n")
			l.run(l.dir, "branch", p.Branch, tip)
			return dir, nil
		})
		if err == nil {
			t.Error("the branch of somebody else was taken")
		}
		if left, err := l.provider().Clear(t.Context(), l.project(), w); err != nil || len(left) != 1 || exists(dir) {
			t.Errorf("left %q, %s", left, detail(err))
		}
		l.isTip(w.Branch, tip)
	})
}

func TestOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, project := l.provider(), l.project()
	now := workspace.Attempt{ID: "attempt-1", StartedAt: time.Now()}
	if err := p.Own(t.Context(), project, filepath.Join(l.root, "nothing"), now); err != nil {
		t.Errorf("nothing: %s", detail(err))
	}
	dir := l.elsewhere("made")
	for range 2 {
		if err := p.Own(t.Context(), project, dir, now); err != nil {
			t.Errorf("its own: %s", detail(err))
		}
	}
	if m := readMarker(gitDirOf(dir)); m.Attempt != now.ID || m.Complete {
		t.Errorf("marked with %+v", m)
	}
	err := p.Own(t.Context(), project, dir, workspace.Attempt{ID: "attempt-2", StartedAt: time.Now()})
	wantCode(t, err, workspace.ErrProviderFailed)
	other := l.elsewhere("other")
	err = p.Own(t.Context(), project, other, workspace.Attempt{ID: "attempt-3", StartedAt: time.Now().Add(time.Hour)})
	wantCode(t, err, workspace.ErrProviderFailed)
	if m := readMarker(gitDirOf(other)); m.Attempt != "" {
		t.Errorf("marked with %+v", m)
	}
}
