package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestRefusedCreateChangesNothing gives bad input of every kind: the right
// code comes back, and repository, disk and database are as they were.
func TestRefusedCreateChangesNothing(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	p.create(t, "1")
	file := filepath.Join(t.TempDir(), "a-file")
	write(t, file, "text\n")
	empty := filepath.Join(t.TempDir(), "empty")
	git(t, p.project, "init", "-q", empty)
	huge := strings.Repeat("x", 10_000)
	project := func(dir string) func(*workspace.CreateOptions) {
		return func(o *workspace.CreateOptions) { o.Project = dir }
	}
	thread := func(id string) func(*workspace.CreateOptions) {
		return func(o *workspace.CreateOptions) { o.ThreadID = id }
	}
	for name, tt := range map[string]struct {
		change func(*workspace.CreateOptions)
		want   workspace.Code
	}{
		"thread empty":       {thread(""), workspace.ErrInvalidName},
		"thread of 10 kB":    {thread(huge), workspace.ErrInvalidName},
		"thread control":     {thread("a\x00b"), workspace.ErrInvalidName},
		"name of nothing":    {typed("🌳"), workspace.ErrInvalidName},
		"name of dots":       {typed(".."), workspace.ErrInvalidName},
		"name of 10 kB":      {typed(huge), workspace.ErrInvalidName},
		"branch dash":        {branch("-x"), workspace.ErrInvalidName},
		"branch above":       {branch("../x"), workspace.ErrInvalidName},
		"branch dots":        {branch("a..b"), workspace.ErrInvalidName},
		"branch HEAD":        {branch("HEAD"), workspace.ErrInvalidName},
		"branch expression":  {branch("@{-1}"), workspace.ErrInvalidName},
		"branch control":     {branch("a\nb"), workspace.ErrInvalidName},
		"branch of 10 kB":    {branch(huge), workspace.ErrInvalidName},
		"branch checked out": {branch("main"), workspace.ErrBranchCheckedOut},
		"branch of a thread": {typed("thread-1"), workspace.ErrBranchCheckedOut},
		"branch below one":   {branch("main/x"), workspace.ErrAlreadyExists},
		"base dash":          {base("--lock"), workspace.ErrInvalidRef},
		"base dots":          {base("main..x"), workspace.ErrInvalidRef},
		"base expression":    {base("@{-1}"), workspace.ErrInvalidRef},
		"base of 10 kB":      {base(huge), workspace.ErrInvalidRef},
		"base unknown":       {base("nowhere"), workspace.ErrTargetNotFound},
		"base a tree":        {base(git(t, p.project, "rev-parse", "HEAD^{tree}")), workspace.ErrInvalidRef},
		"both to refuse":     {func(o *workspace.CreateOptions) { typed("new")(o); base("nowhere")(o) }, workspace.ErrTargetNotFound},
		"no commits":         {project(empty), workspace.ErrNoCommits},
		"project nowhere":    {project(filepath.Join(t.TempDir(), "gone")), workspace.ErrNotFound},
		"project empty":      {project(""), workspace.ErrNotFound},
		"project a file":     {project(file), workspace.ErrNotARepository},
		"project no git":     {project(t.TempDir()), workspace.ErrNotARepository},
		"name and branch":    {func(o *workspace.CreateOptions) { o.Name, o.Branch = "a", "b" }, workspace.ErrInvalidName},
	} {
		// One after the other: each is compared with the world before it.
		t.Run(name, func(t *testing.T) {
			before := p.world(t)
			ahead := workspace.CreateOptions{Project: p.project, ThreadID: "2"}
			tt.change(&ahead)
			wantCode(t, p.Precheck(t.Context(), ahead), tt.want)
			_, err := p.tryCreate(t, "2", tt.change)
			wantCode(t, err, tt.want)
			if name == "branch of a thread" && !strings.Contains(err.Error(), "thread 1 works there") {
				t.Errorf("%v doesn't name the thread", err)
			}
			if w, err := p.Get(t.Context(), "2"); !errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDeleted) {
				t.Errorf("the record is %+v, %v", w, err)
			}
			if after := p.world(t); after != before {
				t.Errorf("something changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// TestRefusedAdoptChangesNothing binds a thread to what is no worktree of the
// project.
func TestRefusedAdoptChangesNothing(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	taken := p.create(t, "1")
	stranger := newProject(t)
	theirs := filepath.Join(realTemp(t), "theirs")
	git(t, stranger, "worktree", "add", "-q", "-b", "x", theirs)
	file := filepath.Join(t.TempDir(), "a-file")
	write(t, file, "text\n")
	inside := filepath.Join(p.project, "sub")
	for name, tt := range map[string]struct {
		dir  string
		want workspace.Code
	}{
		"another thread's":     {taken.Directory, workspace.ErrAlreadyExists},
		"another repository's": {theirs, workspace.ErrNotFound},
		"the main checkout":    {p.project, workspace.ErrNotFound},
		"a directory inside":   {inside, workspace.ErrNotARepository},
		"a file":               {file, workspace.ErrNotARepository},
		"nowhere":              {filepath.Join(t.TempDir(), "gone"), workspace.ErrNotFound},
		"empty":                {"", workspace.ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			before := p.world(t)
			_, err := p.Adopt(t.Context(), workspace.AdoptOptions{Project: p.project, ThreadID: "2", Directory: tt.dir})
			wantCode(t, err, tt.want)
			if after := p.world(t); after != before {
				t.Errorf("something changed:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// TestExistingBranchKeepsItsTip attaches, refuses and works around branches
// that have commits of their own: none of them is moved.
func TestExistingBranchKeepsItsTip(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	git(t, p.project, "switch", "-q", "-c", "threadtree/feat")
	write(t, filepath.Join(p.project, "g"), "work\n")
	git(t, p.project, "add", ".")
	git(t, p.project, "commit", "-q", "-m", "work")
	tip := git(t, p.project, "rev-parse", "HEAD")
	git(t, p.project, "switch", "-q", "main")
	check := func(what string) {
		t.Helper()
		if got := git(t, p.project, "rev-parse", "threadtree/feat"); got != tip {
			t.Fatalf("%s moved the branch to %s", what, got)
		}
	}

	w := p.create(t, "1", func(o *workspace.CreateOptions) { o.Title = "Feat" })
	if w.Branch != "threadtree/feat-2" {
		t.Errorf("a derived name must not join a branch: %s", w.Branch)
	}
	check("a derived name")
	w = p.create(t, "2", typed("feat"))
	if w.Branch != "threadtree/feat" || w.BranchCreated || len(w.Warnings) == 0 {
		t.Errorf("attached: %+v", w)
	}
	if got := git(t, w.Directory, "rev-parse", "HEAD"); got != tip {
		t.Errorf("the workspace is at %s", got)
	}
	check("attaching")
	_, err := p.tryCreate(t, "3", branch("threadtree/feat"))
	wantCode(t, err, workspace.ErrBranchCheckedOut)
	check("a refusal")
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "2"}); err == nil {
		if _, err := os.Stat(w.Directory); err == nil {
			t.Error("the directory is still there")
		}
	} else {
		wantCode(t, err, workspace.ErrUnmerged)
	}
	check("a delete")
	for _, fine := range []workspace.CreateOptions{
		{Project: p.project, ThreadID: "2", Name: "new"}, {Project: p.project, ThreadID: "1", Name: "thread-1"}, {Project: p.project, ThreadID: "2", Title: "thread-1"},
	} {
		before := p.world(t)
		if err := p.Precheck(t.Context(), fine); err != nil || p.world(t) != before {
			t.Errorf("%+v: %v", fine, err)
		}
	}
}
