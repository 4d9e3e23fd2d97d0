package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

type gcCommand struct {
	Repo     string   `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
	Merged   bool     `name:"merged" help:"Also workspaces whose commits are all merged."`
	Idle     duration `name:"idle" placeholder:"TIME" help:"Also workspaces that can be deleted without losing a commit or a change, in which nothing has happened for so long, such as 36h or 14d."`
	Closed   bool     `name:"closed" help:"Also workspaces that can be deleted without losing a commit or a change, whose thread was deleted or archived."`
	MaxTrash *size    `name:"max-trash" placeholder:"N" help:"Also of the kept directories of deleted workspaces, until they take no more than N bytes: folders that can be made again first, then the oldest as a whole."`
	MaxSize  *size    `name:"max-size" placeholder:"N" help:"Also the oldest, until the project's workspaces take no more than N bytes; 500M and 2G are understood. Workspaces go to the trash, which frees their space only later."`
	Apply    bool     `name:"apply" help:"Let go what the plan says."`
}

// duration is a time span that may be given in days.
type duration time.Duration

// UnmarshalText takes 90m, 36h and 14d.
func (d *duration) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 100_000 {
			return fmt.Errorf("%q is no number of days", days)
		}
		*d = duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(string(text))
	if err == nil && v <= 0 {
		err = errors.New("it has to be longer than nothing")
	}
	*d = duration(v)
	return err
}

// size is a number of bytes.
type size int64

// UnmarshalText takes a number with k, M, G or T behind it, or none.
func (s *size) UnmarshalText(text []byte) error {
	number := strings.TrimSuffix(strings.ToUpper(string(text)), "B")
	factor := int64(1)
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			factor, number = 1<<(10*(i+1)), number[:n-1]
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	if err != nil || v < 0 || v > (1<<62)/factor {
		return fmt.Errorf("%q is no size, such as 500M or 2G", text)
	}
	*s = size(v * factor)
	return nil
}

// bound is the size as the library takes it, 0 for none.
func (s *size) bound() int64 {
	switch {
	case s == nil:
		return 0
	case *s == 0:
		return workspace.NoBytes
	}
	return int64(*s)
}

// Run prints the plan, or carries it out.
func (c *gcCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		collector := workspace.NewCollector(m)
		plan, err := collector.Plan(ctx, workspace.CollectOptions{
			Project: project, Merged: c.Merged, Idle: time.Duration(c.Idle), Closed: c.Closed, MaxTrash: c.MaxTrash.bound(), MaxSize: c.MaxSize.bound(),
		})
		if err != nil {
			return err
		}
		if c.Apply {
			if plan, err = collector.Apply(ctx, plan); err != nil {
				return err
			}
		}
		takes := int64(-1)
		if c.MaxSize != nil {
			if takes, err = collector.Takes(ctx, project); err != nil {
				return err
			}
		}
		if a.opts.JSON {
			return a.printJSON(planOf(plan, takes))
		}
		text := a.plan(plan, c.Apply)
		if c.Apply && !a.opts.Quiet {
			text += a.collected(plan)
			if c.MaxSize != nil && takes > int64(*c.MaxSize) {
				text += fmt.Sprintf("The project still takes %s, more than the %s allowed.\n", workspace.FormatSize(takes), workspace.FormatSize(int64(*c.MaxSize)))
			}
		}
		return a.print(text)
	})
}

// collected says what a plan that was carried out has freed, and how it is
// undone.
func (a *app) collected(plan []workspace.Collected) string {
	var freed, waits int64
	var undo []string
	gone, trashed := 0, 0
	for _, p := range plan {
		switch {
		case !p.Done:
		case p.Kind == workspace.CollectWorkspace:
			trashed++
			waits += max(p.Size, 0)
			undo = append(undo, "  threadtree restore --thread "+visible(p.ThreadID)+"\n")
		default:
			gone++
			freed += max(p.Size, 0)
		}
	}
	var b strings.Builder
	if gone > 0 {
		fmt.Fprintf(&b, "%s freed.\n", workspace.FormatSize(freed))
	}
	if trashed > 0 {
		size := ""
		if waits > 0 {
			size = bracketed("", workspace.FormatSize(waits))
		}
		fmt.Fprintf(&b, "%s moved to the trash%s: that frees space once the kept directories go, by gc when their time is over, or by --max-trash. To undo:\n",
			counted(trashed, "workspace"), size)
		b.WriteString(strings.Join(undo, ""))
	}
	return b.String()
}

type collectedJSON struct {
	Kind      workspace.CollectKind `json:"kind"`
	ThreadID  string                `json:"thread_id"`
	TrashID   string                `json:"trash_id,omitempty"`
	SpareID   string                `json:"spare_id,omitempty"`
	Directory string                `json:"directory,omitempty"`
	Folders   []string              `json:"folders,omitempty"`
	Size      *int64                `json:"size,omitempty"`
	Reason    string                `json:"reason"`
	Lost      []string              `json:"lost,omitempty"`
	Done      bool                  `json:"done"`
	Error     string                `json:"error,omitempty"`
}

type planJSON struct {
	Plan []collectedJSON `json:"plan"`
	// Takes is how many bytes the project takes now, absent unless a size was
	// given.
	Takes *int64 `json:"takes,omitempty"`
}

func planOf(plan []workspace.Collected, takes int64) planJSON {
	list := []collectedJSON{}
	for _, p := range plan {
		j := collectedJSON{Kind: p.Kind, ThreadID: p.ThreadID, TrashID: p.TrashID, SpareID: p.SpareID, Directory: p.Directory, Folders: p.Folders, Reason: p.Reason, Lost: p.Lost, Done: p.Done}
		if p.Size >= 0 {
			j.Size = &p.Size
		}
		if p.Err != nil {
			j.Error = errorOf(p.Err).Error.Message
		}
		list = append(list, j)
	}
	j := planJSON{Plan: list}
	if takes >= 0 {
		j.Takes = &takes
	}
	return j
}

// plan is a plan, or what became of it, for people.
func (a *app) plan(plan []workspace.Collected, applied bool) string {
	if len(plan) == 0 {
		if a.opts.Quiet {
			return ""
		}
		return "Nothing has to go.\n"
	}
	kinds := map[workspace.CollectKind]string{
		workspace.CollectDirectory: "kept directory", workspace.CollectSnapshot: "snapshot", workspace.CollectWorkspace: "workspace",
		workspace.CollectFolders: "folders", workspace.CollectSpare: "spare",
	}
	t := table{{"THREAD", "WHAT", "SIZE", "WHY"}}
	for _, p := range plan {
		why := p.Reason
		if len(p.Lost) > 0 {
			why += "; lost with it: " + strings.Join(p.Lost, ", ")
		}
		switch {
		case p.Done && p.Kind == workspace.CollectWorkspace:
			why = "in the trash now: " + why
		case p.Done:
			why = "gone: " + why
		}
		if p.Err != nil {
			why = "stays: " + errorOf(p.Err).Error.Message
		}
		t = append(t, []string{visible(p.ThreadID), kinds[p.Kind], workspace.FormatSize(p.Size), a.sentence(why)})
	}
	text := strings.Join(t.lines(a.width), "")
	if !applied && !a.opts.Quiet {
		text += "Nothing was changed; --apply lets these go.\n"
	}
	return text
}
