package discordbot

import (
	"context"
	"errors"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// What counts as a big merge, which is shown before it is done.
const (
	bigCommits = 20
	bigFiles   = 50
)

// mergeWorktree is /merge-worktree.
func (b *Bot) mergeWorktree(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	target := strings.TrimSpace(data.String("target-branch"))
	return b.begin(e, ActionMerge, false, doingMerge, func(ctx context.Context, r *reply) {
		if r.at.Thread == 0 {
			r.text(ctx, b.text(TextNotThread))
			return
		}
		o := workspace.MergeOptions{ThreadID: r.at.Thread.String(), Target: target, Resolve: true}
		if _, err := b.cfg.Manager.Resolve(ctx, o.ThreadID, ""); err != nil {
			r.error(ctx, "merge", err)
			return
		}
		if p, err := b.cfg.Merger.Preview(ctx, o); err == nil && (len(p.Commits) > bigCommits || len(p.Files) > bigFiles) {
			r.text(ctx, renderPreview(p))
		}
		r.note(ctx, func(n *askedNote) { n.Target = target })
		merged, err := b.cfg.Merger.Merge(ctx, o)
		b.showMerge(ctx, r, merged, err)
	})
}

// showMerge fills in what became of a merge.
func (b *Bot) showMerge(ctx context.Context, r *reply, merged workspace.Merged, err error) {
	conflict, isConflict := errors.AsType[*workspace.Conflict](err)
	switch {
	case err == nil:
		r.text(ctx, renderMerged(merged))
		b.home(r.at.Thread, r.at.Title)
	case isConflict:
		r.text(ctx, renderConflict(conflict), b.conflictButtons(ctx, r.at.Thread, false)...)
	default:
		r.error(ctx, "merge", err)
		if errors.Is(err, workspace.ErrNothingToMerge) {
			b.home(r.at.Thread, r.at.Title)
		}
	}
}

// home takes the sign of work that isn't home off the thread's title.
func (b *Bot) home(thread snowflake.ID, title string) {
	if title, ok := strings.CutPrefix(title, b.cfg.DraftPrefix); ok && title != "" {
		b.rename(thread, title)
	}
}

// conflictButtons are what can be done about a conflict, before and after it is
// resolved.
func (b *Bot) conflictButtons(ctx context.Context, thread snowflake.ID, resolved bool) []discord.LayoutComponent {
	return b.mergeButtons(ctx, thread, b.cfg.Agent != nil && !resolved, b.cfg.Agent == nil || resolved)
}

// cutButtons are what can be done about a conflict of which nobody knows
// whether it is resolved.
func (b *Bot) cutButtons(ctx context.Context, thread snowflake.ID) []discord.LayoutComponent {
	return b.mergeButtons(ctx, thread, b.cfg.Agent != nil, true)
}

func (b *Bot) mergeButtons(ctx context.Context, thread snowflake.ID, ask, goOn bool) []discord.LayoutComponent {
	w, err := b.cfg.Manager.Get(ctx, thread.String())
	if err != nil {
		b.failed(ctx, "look up a workspace", err)
		return nil
	}
	id := func(action string) string { return "/tt/merge/" + action + "/" + thread.String() + "/" + attemptOf(w) }
	var buttons []discord.InteractiveComponent
	if ask {
		buttons = append(buttons, discord.NewPrimaryButton("Ask the agent", id("ask")))
	}
	if goOn {
		buttons = append(buttons, discord.NewSuccessButton("Continue merge", id("continue")))
	}
	return []discord.LayoutComponent{discord.NewActionRow(append(buttons, discord.NewDangerButton("Abort", id("abort")))...)}
}

// attemptOf names a workspace's attempt in a custom id.
func attemptOf(w workspace.Workspace) string {
	if w.Attempt.ID == "" || strings.Contains(w.Attempt.ID, "/") || len(w.Attempt.ID) > 40 {
		return "0"
	}
	return w.Attempt.ID
}

func (b *Bot) registerButtons(r handler.Router) {
	r.ButtonComponent("/tt/merge/{action}/{thread}/{attempt}", b.mergeButton)
	r.ButtonComponent("/tt/list/{list}/{action}/{thread}/{attempt}", b.listButton)
	r.ButtonComponent("/tt/list/{list}/{action}/{value}", b.listButton)
}

// mergeButton is a button below a conflict. Its message stays; the answer is a
// new one.
func (b *Bot) mergeButton(_ discord.ButtonInteractionData, e *handler.ComponentEvent) error {
	action, thread, attempt := e.Vars["action"], e.Vars["thread"], e.Vars["attempt"]
	return b.press(e, ActionMerge, true, doingMerge, func(opt rest.RequestOpt) error { return e.DeferCreateMessage(false, opt) }, func(ctx context.Context, r *reply) {
		w, err := b.cfg.Manager.Get(ctx, thread)
		if err != nil || attemptOf(w) != attempt || r.at.Thread.String() != thread {
			r.text(ctx, b.text(TextStaleButton))
			return
		}
		o := workspace.MergeOptions{ThreadID: thread, Attempt: w.Attempt.ID, Resolve: true}
		target := b.pausedTarget(ctx, o)
		r.note(ctx, func(n *askedNote) { n.Target = target })
		b.pressedMerge(ctx, r, action, o)
	})
}

// pausedTarget is where a paused merge goes, "" where that isn't known.
func (b *Bot) pausedTarget(ctx context.Context, o workspace.MergeOptions) string {
	p, err := b.cfg.Merger.Preview(ctx, o)
	if err != nil || p.Conflict == nil {
		return ""
	}
	return p.Conflict.Target
}

func (b *Bot) pressedMerge(ctx context.Context, r *reply, action string, o workspace.MergeOptions) {
	switch action {
	case "ask":
		b.askAgent(ctx, r, o)
	case "continue":
		merged, err := b.cfg.Merger.Continue(ctx, o)
		b.showMerge(ctx, r, merged, err)
	case "abort":
		if _, err := b.cfg.Merger.Abort(ctx, o); err != nil {
			r.error(ctx, "abort a merge", err)
			return
		}
		r.text(ctx, b.text(TextAborted))
	default:
		r.text(ctx, b.text(TextStaleButton))
	}
}

// press is begin for a button: the same one isn't worked on twice at a time.
func (b *Bot) press(e *handler.ComponentEvent, action Action, public bool, what doing, first func(rest.RequestOpt) error, work func(ctx context.Context, r *reply)) error {
	key := e.Message.ID.String() + e.Data.CustomID()
	b.mu.Lock()
	busy := b.pressed[key]
	b.pressed[key] = true
	b.mu.Unlock()
	if busy {
		return b.begin(e, action, true, "", func(ctx context.Context, r *reply) { r.text(ctx, b.text(TextBusyButton)) })
	}
	return b.beginWith(e, action, public, what, first, work, func() {
		b.mu.Lock()
		delete(b.pressed, key)
		b.mu.Unlock()
	})
}

// askAgent hands the conflict's instructions to the thread's session and says
// when it is done.
func (b *Bot) askAgent(ctx context.Context, r *reply, o workspace.MergeOptions) {
	if b.cfg.Agent == nil {
		r.text(ctx, b.text(TextNoAgent))
		return
	}
	_, err := b.cfg.Merger.Merge(ctx, o)
	conflict, ok := errors.AsType[*workspace.Conflict](err)
	if !ok {
		// It has been resolved, or is not under way any more.
		b.showMerge(ctx, r, workspace.Merged{}, err)
		return
	}
	r.text(ctx, b.text(TextAskedAgent))
	err = b.converse(ctx, r.at.Thread, o.ThreadID, conflict.Instructions)
	if ctx.Err() != nil {
		return
	}
	text := b.text(TextAgentDone)
	if err != nil {
		b.told(ctx, "ask the agent", err)
		text = renderError(err, b.link(r.at.Guild))
	}
	m := quiet(text)
	if err == nil {
		m.Components = b.conflictButtons(ctx, r.at.Thread, true)
	} else {
		m.Components = b.cutButtons(ctx, r.at.Thread)
	}
	_, err = b.send(context.WithoutCancel(ctx), r.at.Thread, m)
	b.failed(ctx, "say that the agent is done", err)
}
