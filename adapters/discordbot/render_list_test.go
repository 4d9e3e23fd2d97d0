package discordbot

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func ptr[T any](v T) *T { return &v }

func mention(id string) string { return "<#" + id + ">" }

// threadID returns a Discord id.
func threadID(n int) string { return fmt.Sprintf("1300000000000000%03d", n) }

// clean1 is a row that may be deleted.
func clean1(n int, name string) workspace.Row {
	dir := "/srv/threadtree/worktrees/1a2b3c4d/" + name
	return workspace.Row{
		Workspace: &workspace.Workspace{
			ThreadID: threadID(n), Provider: workspace.ProviderGit, Name: name, Branch: "threadtree/" + name, BranchCreated: true,
			Base: "main", BaseCommit: strings.Repeat("a", 40), Directory: dir, Status: workspace.StatusReady,
			CreatedAt: testNow.Add(-3*time.Hour - 12*time.Minute), Attempt: workspace.Attempt{ID: fmt.Sprintf("%024x", n)},
		},
		Worktree: &workspace.Worktree{Directory: dir, Branch: "threadtree/" + name, Head: strings.Repeat("a", 40)},
		State: workspace.State{
			Dirty: ptr(false), Ahead: ptr(0), Behind: ptr(0), Merged: ptr(true), Elsewhere: ptr(true),
		},
		Source: workspace.SourceThreadtree, Deletable: true,
	}
}

// against makes a row one that isn't deletable.
func against(row workspace.Row, reasons ...string) workspace.Row {
	row.Deletable, row.Reasons = false, reasons
	return row
}

// variety returns rows of all kinds.
func variety() []workspace.Row {
	row := func(n int, name string, change func(r *workspace.Row)) workspace.Row {
		r := clean1(n, name)
		change(&r)
		return r
	}
	return []workspace.Row{
		clean1(1, "fix-login"),
		against(row(2, "dirty", func(r *workspace.Row) {
			r.State.Dirty, r.State.Changed, r.State.Untracked, r.State.Conflicted = ptr(true), ptr(3), ptr(1), ptr(0)
			r.State.Ahead, r.State.Behind, r.State.Merged, r.State.Elsewhere = ptr(2), ptr(5), ptr(false), ptr(false)
		}), "it has uncommitted changes", "2 commits are not merged"),
		row(3, "done", func(r *workspace.Row) {
			r.Worktree.Head, r.Thread, r.ThreadSince = strings.Repeat("b", 40), workspace.ThreadDeleted, testNow
		}),
		against(row(4, "new", func(r *workspace.Row) {
			r.Workspace.Status, r.Worktree, r.State, r.Liveness = workspace.StatusPending, nil, workspace.State{}, workspace.Alive
			r.Workspace.Directory, r.Workspace.CreatedAt = "", testNow.Add(-20*time.Second)
		}), "it is being made"),
		row(5, "broken", func(r *workspace.Row) {
			r.Workspace.Status, r.Worktree, r.State = workspace.StatusError, nil, workspace.State{}
			r.Workspace.Error, r.Workspace.Directory = "the branch threadtree/broken is checked out at /srv/app; nothing was changed", ""
		}),
		against(row(6, "kept", func(r *workspace.Row) {
			r.Worktree.Locked, r.Worktree.LockReason = true, "long test runs here"
		}), "it is locked: long test runs here"),
		row(7, "gone", func(r *workspace.Row) {
			r.Missing, r.Worktree.Missing, r.Worktree.Prunable, r.State = true, true, "gitdir file points to non-existent location", workspace.State{}
		}),
		against(row(8, "rebasing", func(r *workspace.Row) {
			r.State.Operation, r.Worktree.Branch, r.Worktree.Detached = "rebase", "", true
			r.State.Dirty, r.State.Conflicted = ptr(true), ptr(2)
		}), "a rebase is under way in it", "it has uncommitted changes"),
		against(row(9, "pair", func(r *workspace.Row) { r.SharedWith = []string{threadID(10)} }),
			"thread "+threadID(10)+" works in the same directory"),
		against(row(10, "slow", func(r *workspace.Row) {
			r.State = workspace.State{Unknown: []string{"its status took longer than 5s"}}
		}), "its state is not known", "its status took longer than 5s"),
		against(workspace.Row{
			Worktree: &workspace.Worktree{Directory: "/home/ana/src/app-hotfix", Branch: "hotfix"},
			State: workspace.State{
				Dirty: ptr(false), Ahead: ptr(1), Behind: ptr(0), Merged: ptr(false), LastActivity: ptr(testNow.Add(-50 * time.Hour)),
			},
			Source: workspace.SourceManual,
		}, "no thread owns it"),
		row(12, "elsewhere", func(r *workspace.Row) {
			r.Workspace.Attempt, r.Workspace.Provider, r.Source = workspace.Attempt{}, workspace.ProviderKimaki, workspace.SourceKimaki
			r.Thread = workspace.ThreadArchived
		}),
	}
}

// odd returns n rows with names that were not chosen kindly.
func odd(n int) []workspace.Row {
	names := []string{
		strings.Repeat("long-name-", 10), strings.Repeat("🌳🚀", 50), "مرحبا-بالعالم", hostile,
		strings.Repeat("*", 100), "שלום", "a\nb\n# c", "👩‍💻-pairing",
	}
	var rows []workspace.Row
	for i := range n {
		name := names[i%len(names)]
		row := clean1(i+1, name)
		row.Workspace.Base = name
		if i%3 == 1 {
			row = against(row, "it has uncommitted changes in "+name)
			row.State.Dirty, row.State.Changed, row.State.Unknown = ptr(true), ptr(i), []string{name}
		}
		if i%7 == 6 {
			row.Worktree.Locked, row.Worktree.LockReason = true, name
		}
		rows = append(rows, row)
	}
	return rows
}

func view(rows []workspace.Row) listView {
	return listView{
		Make:    "Type `/new-worktree` to make one.",
		Project: "app", Rows: rows, Automatic: ptr(true), ID: "k3v9x1", Now: testNow, Link: mention,
		MayDelete: true, MayForce: true, MaySet: true,
	}
}

func TestRenderListGolden(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]func() listView{
		"list_0": func() listView { return view(nil) },
		"list_1": func() listView {
			v := view([]workspace.Row{clean1(1, "fix-login")})
			v.Notice, v.Undo, v.Automatic = renderDeleted(workspace.Deleted{Workspace: *clean1(2, "old").Workspace}, testNow), "00ff", ptr(false)
			return v
		},
		"list_12": func() listView { return view(variety()) },
		"list_spare": func() listView {
			return view([]workspace.Row{{
				Source:   workspace.SourceSpare,
				Worktree: &workspace.Worktree{Directory: "/home/ada/.spare-1", Detached: true, Head: strings.Repeat("a", 40), Spare: true, Locked: true, LockReason: "kept as a spare by threadtree, 1"},
			}})
		},
		"list_60": func() listView { return view(odd(60)) },
		"list_look": func() listView { // somebody who may only look, outside of a channel of the project
			v := view(variety()[:3])
			v.MayDelete, v.MayForce, v.MaySet, v.Automatic, v.Link = false, false, false, nil, func(string) string { return "" }
			return v
		},
	} {
		var b strings.Builder
		shown := v()
		for page, pages := 0, 1; page < pages; page++ {
			shown.Page = page
			components, n := renderList(shown)
			size := checkComponents(t, components)
			pages = n
			fmt.Fprintf(&b, "==== page %d of %d: %d components, %d characters\n%s", page+1, pages, size.components, size.characters, drawn(components))
		}
		golden(t, name, b.String())
	}
}

// Each row is on one page, and each page is as full as it can be.
func TestRenderListPages(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]workspace.Row{odd(60), variety(), odd(200), variety()[10:11]} {
		v := view(rows)
		v.Notice, v.Undo = strings.Repeat(hostile2(), 40), "00ff"
		_, pages := renderList(v)
		shown := 0
		for page := range pages {
			v.Page = page
			components, n := renderList(v)
			if n != pages {
				t.Errorf("%d pages, then %d", pages, n)
			}
			checkComponents(t, components)
			shown += strings.Count(drawn(components), "\n-# made ") + strings.Count(drawn(components), "\n-# last change ")
		}
		if shown != len(rows) {
			t.Errorf("%d of %d rows on %d pages", shown, len(rows), pages)
		}
		v.Page = pages + 7
		beyond, _ := renderList(v)
		v.Page = pages - 1
		last, _ := renderList(v)
		if drawn(beyond) != drawn(last) {
			t.Error("beyond the last page isn't the last")
		}
	}
}

func hostile2() string { return escape(hostile) + "\n```\nx\n```\n" }

func TestRenderListButtons(t *testing.T) {
	t.Parallel()
	const del, force = "/delete/", "/force/"
	for name, c := range map[string]struct {
		change func(v *listView, r *workspace.Row)
		want   string
	}{
		"deletable":      {func(*listView, *workspace.Row) {}, "/tt/list/k3v9x1/delete/" + threadID(1) + "/" + fmt.Sprintf("%024x", 1)},
		"no attempt":     {func(_ *listView, r *workspace.Row) { r.Workspace.Attempt.ID = "" }, del + threadID(1) + "/0"},
		"may not":        {func(v *listView, _ *workspace.Row) { v.MayDelete = false }, ""},
		"not deletable":  {func(_ *listView, r *workspace.Row) { r.Deletable = false }, force + threadID(1)},
		"may not force":  {func(v *listView, r *workspace.Row) { r.Deletable, v.MayForce = false, false }, ""},
		"being made":     {func(_ *listView, r *workspace.Row) { r.Deletable, r.Workspace.Status = false, workspace.StatusPending }, ""},
		"no record":      {func(_ *listView, r *workspace.Row) { r.Deletable, r.Workspace = false, nil }, ""},
		"a slash":        {func(_ *listView, r *workspace.Row) { r.Workspace.ThreadID = "slack/C1" }, ""},
		"too long":       {func(_ *listView, r *workspace.Row) { r.Workspace.ThreadID = strings.Repeat("1", 90) }, ""},
		"attempt slash":  {func(_ *listView, r *workspace.Row) { r.Workspace.Attempt.ID = "a/b" }, ""},
		"thread is none": {func(_ *listView, r *workspace.Row) { r.Workspace.ThreadID = "" }, ""},
	} {
		row := clean1(1, "x")
		v := view(nil)
		c.change(&v, &row)
		v.Rows, v.MaySet = []workspace.Row{row}, false
		components, _ := renderList(v)
		checkComponents(t, components)
		got := drawn(components)
		if c.want == "" && strings.Contains(got, "/tt/") || !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", name, c.want, got)
		}
	}
	twice := view([]workspace.Row{clean1(1, "x"), clean1(1, "y")})
	components, _ := renderList(twice)
	checkComponents(t, components)
}

func TestRenderForceGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := append(variety(), odd(5)...)
	bad := clean1(1, hostile)
	bad.State.Operation = hostile
	for i := range 30 {
		bad.Reasons = append(bad.Reasons, fmt.Sprint(i, " ", strings.Repeat(hostile, 9)))
	}
	for _, row := range append(rows, bad) {
		if row.Deletable && len(row.Reasons) == 0 || row.Workspace == nil {
			continue
		}
		v := view(nil)
		v.Page = 2
		components := renderForce(v, row, row.Workspace.Attempt.ID)
		checkComponents(t, components)
		b.WriteString(drawn(components))
	}
	golden(t, "force", b.String())
}
