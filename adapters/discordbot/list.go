package discordbot

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"

	"github.com/threadtree/threadtree/workspace"
)

// listNote says which list of a person in a channel is the present one: the
// buttons of all others are void.
type listNote struct {
	ID   string `json:"id"`
	Page int    `json:"page"`
	// Undo is the last delete that can be undone, as in listView, until when.
	Undo      string    `json:"undo,omitempty"`
	UndoUntil time.Time `json:"undo_until,omitzero"`
	// Project is that of the list, and UndoProject that of what was deleted:
	// its buttons are about no other.
	Project     string `json:"project,omitempty"`
	UndoProject string `json:"undo_project,omitempty"`
}

// worktrees is /worktrees.
func (b *Bot) worktrees(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	return b.begin(e, ActionList, true, doingList, func(ctx context.Context, r *reply) {
		defer b.lockList(listKey(r))()
		b.draw(ctx, r, listView{})
	})
}

func listKey(r *reply) string { return r.where().String() + "/" + r.person.UserID.String() }

// listLock has the presses on the lists of one person in one channel come one
// after the other; it is there while somebody has it or waits.
type listLock struct {
	sync.Mutex
	wanted int
}

func (b *Bot) lockList(key string) (unlock func()) {
	b.mu.Lock()
	l := b.lists[key]
	if l == nil {
		l = &listLock{}
		b.lists[key] = l
	}
	l.wanted++
	b.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		b.mu.Lock()
		defer b.mu.Unlock()
		if l.wanted--; l.wanted == 0 {
			delete(b.lists, key)
		}
	}
}

// draw fills in the list anew, with a page, a notice and an undo of v's. Its
// buttons are the only ones that count from now on.
func (b *Bot) draw(ctx context.Context, r *reply, v listView) bool {
	if !b.look(ctx, r, &v) {
		return true
	}
	components, _ := renderList(v)
	return r.components(ctx, components)
}

// look completes a view with how things are; where it can't, it says why, after
// the view's notice.
func (b *Bot) look(ctx context.Context, r *reply, v *listView) bool {
	may := b.allowed(ctx, r.person, ActionDelete, ActionForce, ActionSettings)
	v.MayDelete, v.MayForce, v.MaySet = may[ActionDelete], may[ActionForce], may[ActionSettings]
	project, err := b.project(ctx, r.at)
	b.noteList(ctx, r, v, project)
	if err != nil {
		b.cannotLook(ctx, r, *v, b.projectText(ctx, r, err))
		return false
	}
	rows, err := b.cfg.Manager.List(ctx, workspace.ListOptions{Project: project})
	if err != nil {
		b.told(ctx, "list the worktrees", err)
		b.cannotLook(ctx, r, *v, renderError(err, b.link(r.at.Guild)))
		return false
	}
	v.Project, v.Rows, v.Now, v.Link = project, rows, b.cfg.Now(), b.link(r.at.Guild)
	if _, ok := b.cfg.Names[CommandNew]; ok {
		v.Make = b.text(TextMake)
	}
	if channel, err := b.cfg.Store.Channel(ctx, r.at.Channel.String()); err == nil {
		v.Automatic = &channel.Automatic
	}
	return true
}

// noteList makes a view the present list of a person in a channel. What could
// be undone there can still be.
func (b *Bot) noteList(ctx context.Context, r *reply, v *listView, project string) {
	v.ID = rand.Text()[:10]
	var noted listNote
	err := changeNote(ctx, b, notesList, listKey(r), func(n *listNote) bool {
		noted = listNote{ID: v.ID, Page: v.Page, Undo: v.Undo, UndoUntil: v.UndoUntil, Project: orElse(project, n.Project), UndoProject: n.Project}
		if v.Undo == "" && n.Undo != v.Undone && n.UndoUntil.After(b.cfg.Now()) {
			noted.Undo, noted.UndoUntil, noted.UndoProject = n.Undo, n.UndoUntil, n.UndoProject
		}
		*n = noted
		return true
	})
	b.failed(ctx, "note a list", err)
	b.dropOldDaily()
	if v.MayDelete {
		v.Undo = noted.Undo
	}
}

// cannotLook fills in why there is no list, with what was done before.
func (b *Bot) cannotLook(ctx context.Context, r *reply, v listView, why string) {
	if v.Notice != "" {
		why = v.Notice + "\n" + why
	}
	box := discord.NewContainer(discord.NewTextDisplay(clip(why, maxContent)))
	v.Automatic = nil
	r.components(ctx, v.withButtons([]discord.LayoutComponent{box}, v.buttons(0, 1)))
}

// components fills in an answer of components.
func (r *reply) components(ctx context.Context, components []discord.LayoutComponent) bool {
	flags := discord.MessageFlagIsComponentsV2
	return r.fill(ctx, discord.MessageUpdate{Components: &components, Flags: &flags, AllowedMentions: nobody()})
}

// projectText says why there is no project to list.
func (b *Bot) projectText(ctx context.Context, r *reply, err error) string {
	if errors.Is(err, errNoProject) {
		return b.text(TextNoProject)
	}
	b.told(ctx, "look up the project", err)
	return renderError(err, b.link(r.at.Guild))
}

// listActions are what the buttons of a list need.
var listActions = map[string]Action{
	"page": ActionList, "delete": ActionDelete, "force": ActionForce, "forced": ActionForce, "undo": ActionDelete, "auto": ActionSettings,
}

// listButton is a button of a list, which is then drawn anew.
func (b *Bot) listButton(_ discord.ButtonInteractionData, e *handler.ComponentEvent) error {
	action, ok := listActions[e.Vars["action"]]
	if !ok {
		action = ActionList
	}
	return b.press(e, action, false, listDoings[e.Vars["action"]], func(opt rest.RequestOpt) error { return e.DeferUpdateMessage(opt) }, func(ctx context.Context, r *reply) {
		defer b.lockList(listKey(r))()
		var n listNote
		_, _, err := b.readNote(ctx, notesList, listKey(r), &n)
		// An undo names what it brings back, whatever was listed since.
		if err != nil || n.ID != e.Vars["list"] && e.Vars["action"] != "undo" {
			b.draw(ctx, r, listView{Page: n.Page, Notice: b.text(TextStaleButton)})
			return
		}
		b.pressedList(ctx, r, e.Vars, n)
	})
}

func (b *Bot) pressedList(ctx context.Context, r *reply, vars map[string]string, n listNote) {
	v := listView{Page: n.Page}
	r.noteList(ctx, vars, n.Page)
	switch vars["action"] {
	case "page":
		v.Page, _ = strconv.Atoi(vars["value"])
	case "auto":
		v.Notice = b.setAutomatic(ctx, r, vars["value"] == "on")
	case "undo":
		if b.isListed(ctx, r, &v, b.trashed, vars["thread"], vars["attempt"], n.Project, n.UndoProject) {
			b.undo(ctx, r, &v, vars["thread"], vars["attempt"])
		}
	case "delete", "forced":
		if b.isListed(ctx, r, &v, b.kept, vars["thread"], vars["attempt"], n.Project) {
			b.remove(ctx, r, &v, vars["thread"], vars["attempt"], vars["action"] == "forced")
		}
	case "force":
		b.confirm(ctx, r, v, vars["thread"], vars["attempt"])
		return
	default:
		v.Notice = b.text(TextStaleButton)
	}
	seen := b.draw(ctx, r, v)
	if !seen && v.Undo != "" {
		// What is gone is told, wherever it can be.
		r.instead(ctx, r.where(), quiet(v.Notice))
	}
}

// listDoings are what of a list's buttons the next run needs to know; the
// others draw the list alone, and can be pressed again.
var listDoings = map[string]doing{"undo": doingUndo, "delete": doingDelete, "forced": doingDelete}

// noteList notes what a button of a list is about.
func (r *reply) noteList(ctx context.Context, vars map[string]string, page int) {
	r.note(ctx, func(n *askedNote) {
		n.About, n.Page = vars["thread"], page
		if n.Attempt = vars["attempt"]; n.Doing == doingUndo {
			n.Attempt, n.Trash = "", vars["attempt"]
		}
	})
}

// isListed reports whether a button is about something of one of the projects;
// where it isn't, or that can't be found out, the view says so.
func (b *Bot) isListed(ctx context.Context, r *reply, v *listView, has func(ctx context.Context, project, thread, id string) (bool, error), thread, id string, projects ...string) bool {
	v.Notice = b.text(TextStaleButton)
	for _, project := range projects {
		if project == "" {
			continue
		}
		ok, err := has(ctx, project, thread, id)
		if ok {
			v.Notice = ""
			return true
		}
		if err != nil {
			b.told(ctx, "look for what a button is about", err)
			v.Notice = renderError(err, b.link(r.at.Guild))
		}
	}
	return false
}

// kept reports whether a project has a thread's workspace.
func (b *Bot) kept(ctx context.Context, project, thread, _ string) (bool, error) {
	rows, err := b.cfg.Manager.List(ctx, workspace.ListOptions{Project: project, WithoutState: true})
	return slices.ContainsFunc(rows, func(row workspace.Row) bool {
		return row.Workspace != nil && row.Workspace.ThreadID == thread
	}), err
}

// trashed reports whether a project has something kept of a deleted workspace.
func (b *Bot) trashed(ctx context.Context, project, thread, id string) (bool, error) {
	trash, err := b.cfg.Manager.Trash(ctx, project)
	return slices.ContainsFunc(trash, func(t workspace.Trashed) bool { return t.ID == id && t.Workspace.ThreadID == thread }), err
}

// current returns a thread's workspace, if it is still the one that a button
// was made for.
func (b *Bot) current(ctx context.Context, thread, attempt string) (workspace.Workspace, bool) {
	w, err := b.cfg.Manager.Get(ctx, thread)
	return w, err == nil && attemptOf(w) == attempt
}

// remove deletes a workspace; the view says what came of it.
func (b *Bot) remove(ctx context.Context, r *reply, v *listView, thread, attempt string, force bool) {
	w, ok := b.current(ctx, thread, attempt)
	if !ok {
		v.Notice = b.text(TextStaleButton)
		return
	}
	deleted, err := b.cfg.Manager.Delete(ctx, workspace.DeleteOptions{ThreadID: thread, Attempt: w.Attempt.ID, Force: force})
	if err != nil {
		b.told(ctx, "delete a workspace", err)
		v.Notice = renderError(err, b.link(r.at.Guild))
		return
	}
	if deleted.Trashed != nil {
		v.Undo, v.UndoUntil = thread+"/"+deleted.Trashed.ID, deleted.Trashed.RestorableUntil
	}
	v.Notice = renderDeleted(deleted, b.cfg.Now())
}

// confirm shows what would go with a workspace before it is deleted by force.
func (b *Bot) confirm(ctx context.Context, r *reply, v listView, thread, attempt string) {
	if !b.look(ctx, r, &v) {
		return
	}
	for _, row := range v.Rows {
		if w := row.Workspace; w != nil && w.ThreadID == thread && attemptOf(*w) == attempt {
			r.components(ctx, renderForce(v, row, attempt))
			return
		}
	}
	v.Notice = b.text(TextStaleButton)
	components, _ := renderList(v)
	r.components(ctx, components)
}

// undo brings a deleted workspace back; the view says what came of it.
func (b *Bot) undo(ctx context.Context, r *reply, v *listView, thread, id string) {
	w, err := b.cfg.Manager.Restore(ctx, workspace.RestoreOptions{ThreadID: thread, TrashID: id})
	if err == nil || errors.Is(err, workspace.ErrNotFound) {
		v.Undone = thread + "/" + id
	}
	if err != nil {
		b.told(ctx, "restore a workspace", err)
		v.Notice = renderError(err, b.link(r.at.Guild))
		return
	}
	v.Notice = b.text(TextRestored) + "\n" + renderReady(w, b.link(r.at.Guild))
}

// setAutomatic has each new thread of the channel get a workspace, or not.
func (b *Bot) setAutomatic(ctx context.Context, r *reply, on bool) string {
	channel, err := b.cfg.Store.Channel(ctx, r.at.Channel.String())
	if err == nil {
		channel.Automatic = on
		err = b.cfg.Store.PutChannel(ctx, channel)
	}
	switch {
	case err != nil:
		b.told(ctx, "change a channel", err)
		return renderError(err, b.link(r.at.Guild))
	case on:
		return "Each new thread of this channel gets a workspace now."
	}
	return "New threads of this channel get no workspace any more."
}
