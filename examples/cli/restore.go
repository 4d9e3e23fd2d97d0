package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

type restoreCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Trash  string `name:"id" placeholder:"ID" help:"Which of several of the thread's, by its id in the trash. Default: the newest."`
}

// Run brings the thread's deleted workspace back.
func (c *restoreCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		w, err := m.Restore(ctx, workspace.RestoreOptions{ThreadID: c.Thread, TrashID: c.Trash, Progress: a.progress()})
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

type trashCommand struct {
	Repo string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
}

// Run shows what can be restored.
func (c *trashCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		trash, err := workspace.NewCollector(m).Trash(ctx, project)
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(a.trashOf(trash))
		}
		return a.print(a.trash(trash, project))
	})
}

type trashedJSON struct {
	ID              string   `json:"id"`
	ThreadID        string   `json:"thread_id"`
	Name            string   `json:"name"`
	Branch          string   `json:"branch"`
	Head            string   `json:"head"`
	DeletedAt       string   `json:"deleted_at"`
	AgeSeconds      int64    `json:"age_seconds"`
	RestoreUntil    string   `json:"restore_until"`
	Directory       string   `json:"directory,omitempty"`
	DirectoryUntil  string   `json:"directory_until,omitempty"`
	Size            *int64   `json:"size,omitempty"`
	WithoutSnapshot []string `json:"missing_from_snapshot"`
}

func (a *app) trashOf(trash []workspace.Trashed) map[string][]trashedJSON {
	list := []trashedJSON{}
	for _, t := range trash {
		j := trashedJSON{
			ID: t.ID, ThreadID: t.Workspace.ThreadID, Name: t.Workspace.Name, Branch: t.Kept.Branch, Head: t.Kept.Tip,
			DeletedAt: timeOf(t.DeletedAt), AgeSeconds: int64(a.now().Sub(t.DeletedAt).Seconds()), RestoreUntil: timeOf(t.RestorableUntil),
			Directory: t.Kept.Directory, DirectoryUntil: timeOf(t.DirectoryUntil), WithoutSnapshot: append([]string{}, t.Kept.Missing...),
		}
		if t.Size >= 0 {
			j.Size = &t.Size
		}
		list = append(list, j)
	}
	return map[string][]trashedJSON{"trash": list}
}

// trash is what can be restored, for people.
func (a *app) trash(trash []workspace.Trashed, project string) string {
	if len(trash) == 0 {
		if a.opts.Quiet {
			return ""
		}
		return fmt.Sprintf("Nothing of %s can be restored.\n", a.path(project))
	}
	t := table{{"THREAD", "BRANCH", "DELETED", "SIZE", "RESTORABLE"}}
	for _, x := range trash {
		what := "until " + x.RestorableUntil.Local().Format("2006-01-02 15:04")
		if x.Kept.Directory != "" {
			what += ", with ignored files"
			if x.DirectoryUntil.After(a.now()) {
				what += " until " + x.DirectoryUntil.Local().Format("2006-01-02 15:04")
			}
		}
		branch := x.Kept.Branch
		if branch == "" {
			branch = "(at " + short(x.Kept.Tip) + ")"
		}
		t = append(t, []string{visible(x.Workspace.ThreadID), visible(branch), ago(x.DeletedAt, a.now()), workspace.FormatSize(x.Size), what})
	}
	if a.width > 0 {
		t.limit(1, a.width-24)
	}
	several := map[string]int{}
	for _, x := range trash {
		several[x.Workspace.ThreadID]++
	}
	var b strings.Builder
	lines := t.lines(a.width)
	b.WriteString(lines[0])
	for i, x := range trash {
		b.WriteString(lines[i+1])
		if several[x.Workspace.ThreadID] > 1 {
			b.WriteString(a.hang("  ", "id "+x.ID))
		}
		for _, missing := range x.Kept.Missing {
			b.WriteString(a.hang("  ! ", "not in the snapshot: "+missing))
		}
	}
	return b.String()
}
