package discordbot

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

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
}

// worktrees is /worktrees.
func (b *Bot) worktrees(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	return b.begin(e, ActionList, true, func(ctx context.Context, r *reply) { b.draw(ctx, r, listView{}) })
}

func listKey(r *reply) string {
	channel := r.at.channel
	if r.at.thread != 0 {
		channel = r.at.thread
	}
	return channel.String() + "/" + r.person.UserID.String()
}

// draw fills in the list anew, with a page, a notice and an undo of v's. Its
// buttons are the only ones that count from now on.
func (b *Bot) draw(ctx context.Context, r *reply, v listView) {
	if !b.look(ctx, r, &v) {
		return
	}
	components, _ := renderList(v)
	r.components(ctx, components)
}

// look completes a view with how things are; where it can't, it says why.
func (b *Bot) look(ctx context.Context, r *reply, v *listView) bool {
	project, err := b.project(ctx, r.at)
	if err != nil {
		r.projectComponents(ctx, err)
		return false
	}
	rows, err := b.cfg.Manager.List(ctx, workspace.ListOptions{Project: project})
	if err != nil {
		b.told(ctx, "list the worktrees", err)
		r.plain(ctx, renderError(err, b.link(r.at.guild)))
		return false
	}
	v.ID = rand.Text()[:10]
	err = changeNote(ctx, b, notesList, listKey(r), func(n *listNote) bool { *n = listNote{ID: v.ID, Page: v.Page}; return true })
	if err != nil {
		b.failed(ctx, "note a list", err)
	}
	v.Project, v.Rows, v.Now, v.Link = project, rows, b.cfg.Now(), b.link(r.at.guild)
	if channel, err := b.cfg.Store.Channel(ctx, r.at.channel.String()); err == nil {
		v.Automatic = &channel.Automatic
	}
	may := func(a Action) bool { return b.cfg.Authorizer.May(ctx, r.person, a) }
	v.MayDelete, v.MayForce, v.MaySet = may(ActionDelete), may(ActionForce), may(ActionSettings)
	return true
}

// components fills in an answer of components.
func (r *reply) components(ctx context.Context, components []discord.LayoutComponent) {
	flags := discord.MessageFlagIsComponentsV2
	r.fill(ctx, discord.MessageUpdate{Components: &components, Flags: &flags, AllowedMentions: nobody()})
}

// plain fills in a text where an answer may be of components already: such a
// message takes no other content any more.
func (r *reply) plain(ctx context.Context, text string) {
	r.components(ctx, []discord.LayoutComponent{discord.NewContainer(discord.NewTextDisplay(clip(text, maxContent)))})
}

func (r *reply) projectComponents(ctx context.Context, err error) {
	text := r.b.text(TextNoProject)
	if !errors.Is(err, errNoProject) {
		r.b.told(ctx, "look up the project", err)
		text = renderError(err, r.b.link(r.at.guild))
	}
	r.plain(ctx, text)
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
	return b.press(e, action, func(opt rest.RequestOpt) error { return e.DeferUpdateMessage(opt) }, func(ctx context.Context, r *reply) {
		var n listNote
		if _, _, err := b.readNote(ctx, notesList, listKey(r), &n); err != nil || n.ID != e.Vars["list"] {
			b.draw(ctx, r, listView{Page: n.Page, Notice: b.text(TextStaleButton)})
			return
		}
		b.pressedList(ctx, r, e.Vars, n)
	})
}

func (b *Bot) pressedList(ctx context.Context, r *reply, vars map[string]string, n listNote) {
	v := listView{Page: n.Page}
	switch vars["action"] {
	case "page":
		v.Page, _ = strconv.Atoi(vars["value"])
	case "auto":
		v.Notice = b.setAutomatic(ctx, r, vars["value"] == "on")
	case "undo":
		v.Notice = b.undo(ctx, r, vars["thread"], vars["attempt"])
	case "delete", "forced":
		v.Notice, v.Undo = b.remove(ctx, r, vars["thread"], vars["attempt"], vars["action"] == "forced")
	case "force":
		b.confirm(ctx, r, v, vars["thread"], vars["attempt"])
		return
	default:
		v.Notice = b.text(TextStaleButton)
	}
	b.draw(ctx, r, v)
}

// current returns a thread's workspace, if it is still the one that a button
// was made for.
func (b *Bot) current(ctx context.Context, thread, attempt string) (workspace.Workspace, bool) {
	w, err := b.cfg.Manager.Get(ctx, thread)
	return w, err == nil && attemptOf(w) == attempt
}

// remove deletes a workspace and returns what to say of it.
func (b *Bot) remove(ctx context.Context, r *reply, thread, attempt string, force bool) (notice, undo string) {
	if _, ok := b.current(ctx, thread, attempt); !ok {
		return b.text(TextStaleButton), ""
	}
	deleted, err := b.cfg.Manager.Delete(ctx, workspace.DeleteOptions{ThreadID: thread, Force: force})
	if err != nil {
		b.told(ctx, "delete a workspace", err)
		return renderError(err, b.link(r.at.guild)), ""
	}
	if deleted.Trashed != nil {
		undo = thread + "/" + deleted.Trashed.ID
	}
	return renderDeleted(deleted, b.cfg.Now()), undo
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

// undo brings a deleted workspace back and returns what to say of it.
func (b *Bot) undo(ctx context.Context, r *reply, thread, id string) string {
	w, err := b.cfg.Manager.Restore(ctx, workspace.RestoreOptions{ThreadID: thread, TrashID: id})
	if err != nil {
		b.told(ctx, "restore a workspace", err)
		return renderError(err, b.link(r.at.guild))
	}
	return renderReady(w, b.link(r.at.guild))
}

// setAutomatic has each new thread of the channel get a workspace, or not.
func (b *Bot) setAutomatic(ctx context.Context, r *reply, on bool) string {
	channel, err := b.cfg.Store.Channel(ctx, r.at.channel.String())
	if err == nil {
		channel.Automatic = on
		err = b.cfg.Store.PutChannel(ctx, channel)
	}
	switch {
	case err != nil:
		b.told(ctx, "change a channel", err)
		return renderError(err, b.link(r.at.guild))
	case on:
		return "Each new thread of this channel gets a workspace now."
	}
	return "New threads of this channel get no workspace any more."
}
