package discordbot

import (
	"context"
	"errors"
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// mergeNote is a merge that is under way, for the run after this one.
type mergeNote struct {
	Guild  snowflake.ID `json:"guild"`
	Thread snowflake.ID `json:"thread"`
	Title  string       `json:"title"`
	Target string       `json:"target,omitempty"`
	// Token is the way to the answer; Discord takes it for a quarter of an
	// hour.
	Token string `json:"token"`
}

// merging works on a merge, with a note of it while it lasts. One that was cut
// short leaves the note.
func (b *Bot) merging(ctx context.Context, r *reply, target string, work func()) {
	key := r.e.ID().String()
	err := changeNote(ctx, b, notesMerge, key, func(n *mergeNote) bool {
		*n = mergeNote{Guild: r.at.guild, Thread: r.at.thread, Title: r.at.title, Target: target, Token: r.e.Token()}
		return true
	})
	b.failed(ctx, "note a merge", err)
	work()
	if ctx.Err() == nil {
		b.forgetMerge(ctx, key)
	}
}

func (b *Bot) forgetMerge(ctx context.Context, key string) {
	err := changeNote(context.WithoutCancel(ctx), b, notesMerge, key, func(*mergeNote) bool { return false })
	b.failed(ctx, "forget a merge", err)
}

// resumeMerges tells what became of the merges of an earlier run.
func (b *Bot) resumeMerges(ctx context.Context) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesMerge)
	if err != nil {
		return err
	}
	for _, note := range notes {
		b.spawn("tell what became of a merge", func(ctx context.Context) {
			var n mergeNote
			if _, found, err := b.readNote(ctx, notesMerge, note.Key, &n); err != nil || !found {
				b.failed(ctx, "read a note of a merge", err)
				return
			}
			text, rows := b.whatBecame(ctx, n)
			if ctx.Err() != nil {
				return
			}
			b.tellMerge(ctx, n, text, rows)
			b.forgetMerge(ctx, note.Key)
		})
	}
	return nil
}

// whatBecame finds out how far a merge has come that nobody works on any more.
func (b *Bot) whatBecame(ctx context.Context, n mergeNote) (text string, rows []discord.LayoutComponent) {
	link := b.link(n.Guild)
	w, err := b.cfg.Manager.Get(ctx, n.Thread.String())
	if err != nil {
		return renderError(err, link), nil
	}
	if _, err := b.cfg.Merger.Recover(ctx, w.ProjectDirectory); err != nil {
		b.told(ctx, "clear up after a merge", err)
		return renderError(err, link), nil
	}
	p, err := b.cfg.Merger.Preview(ctx, workspace.MergeOptions{ThreadID: n.Thread.String(), Target: n.Target, Resolve: true})
	nothing := func(err error) bool { return errors.Is(err, workspace.ErrNothingToMerge) }
	switch {
	case err != nil && !nothing(err):
		b.told(ctx, "look at a merge", err)
		return renderError(err, link), nil
	case p.Conflict != nil && p.Conflict.Paused:
		return b.text(TextMergeCut) + "\n" + renderConflict(p.Conflict), b.cutButtons(ctx, n.Thread)
	case err != nil || slices.ContainsFunc(p.Refusals, nothing):
		b.home(n.Thread, n.Title)
		return b.text(TextMergeCut) + " " + b.text(TextMergeDone, codeOf(orElse(p.Target, orElse(n.Target, "the target")), 200)), nil
	}
	return b.text(TextMergeCut) + " " + b.text(TextMergeUndone, codeOf(p.Target, 200)), nil
}

// tellMerge says it in the answer that was begun, or in the thread where that
// can't be filled in any more.
func (b *Bot) tellMerge(ctx context.Context, n mergeNote, text string, rows []discord.LayoutComponent) {
	content := clip(text, maxContent)
	opt, cancel := within(ctx)
	defer cancel()
	_, err := b.api().UpdateInteractionResponse(b.self, n.Token,
		discord.MessageUpdate{Content: &content, Components: &rows, AllowedMentions: nobody()}, opt)
	if err == nil {
		return
	}
	b.cfg.Logger.InfoContext(ctx, "an answer can't be filled in any more", "error", err)
	m := quiet(content)
	m.Components = rows
	_, err = b.send(ctx, n.Thread, m)
	b.failed(ctx, "tell what became of a merge", err)
}

// isThere reports whether an answer has arrived after all whose sending failed.
func (r *reply) isThere(ctx context.Context, err error) bool {
	if ctx.Err() != nil || rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownInteraction, rest.JSONErrorCodeInteractionAlreadyAcknowledged) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	_, err = r.b.api().GetInteractionResponse(r.e.ApplicationID(), r.e.Token(), rest.WithCtx(ctx))
	return err == nil
}
