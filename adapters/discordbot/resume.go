package discordbot

import (
	"context"
	"errors"
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// resumeAsked tells what became of what an earlier run was asked for.
func (b *Bot) resumeAsked(ctx context.Context) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesAsked)
	if err != nil {
		return err
	}
	for _, note := range notes {
		b.spawn("tell what became of what was asked", func(ctx context.Context) {
			var n askedNote
			id, idErr := snowflake.Parse(note.Key)
			if _, found, err := b.readNote(ctx, notesAsked, note.Key, &n); err != nil || idErr != nil || !found {
				b.failed(ctx, "read a note of what was asked", errors.Join(err, idErr))
				return
			}
			r := &reply{b: b, app: b.self, id: id, token: n.Token, at: n.At, person: n.Person, public: n.Public, doing: n.Doing, late: true}
			r.work(ctx, "what was asked before", func(ctx context.Context, r *reply) { b.tellAsked(ctx, r, n) })
			r.ended(ctx)
		})
	}
	return nil
}

// tellAsked fills in the answer of an earlier run with what is so, or says it
// where it was asked if that can't be filled in any more.
func (b *Bot) tellAsked(ctx context.Context, r *reply, n askedNote) {
	switch n.Doing {
	case doingCreate:
		b.tellCreate(ctx, r, n)
	case doingMerge:
		text, rows := b.whatBecame(ctx, n)
		if ctx.Err() == nil {
			r.text(ctx, text, rows...)
		}
	case doingPush:
		if loading, known := r.isLoading(ctx); loading || !known {
			r.text(ctx, b.text(TextWasCut)+" "+b.text(TextPushAgain))
		}
	case doingList:
		if loading, _ := r.isLoading(ctx); loading {
			defer b.lockList(listKey(r))()
			b.draw(ctx, r, listView{})
		}
	case doingDelete, doingUndo:
		defer b.lockList(listKey(r))()
		v := listView{Page: n.Page}
		switch {
		case n.About == "":
			v.Notice = b.text(TextAskAgain)
		case n.Doing == doingDelete:
			b.wasDeleted(ctx, r, &v, n)
		default:
			b.wasRestored(ctx, r, &v, n)
		}
		v.Notice = b.text(TextWasCut) + "\n" + v.Notice
		if ctx.Err() == nil && !b.draw(ctx, r, v) {
			r.instead(ctx, r.where(), quiet(v.Notice))
		}
	default:
		// Who asked for no more than a look asks again.
		if loading, _ := r.isLoading(ctx); loading {
			r.text(ctx, b.text(TextWasCut)+" "+b.text(TextAskAgain))
		}
	}
}

// tellCreate says where the thread is, or that there is none.
func (b *Bot) tellCreate(ctx context.Context, r *reply, n askedNote) {
	if n.Thread == 0 && n.Title != "" {
		n.Thread = b.takeUpPrivate(ctx, r, n)
	}
	if n.Thread != 0 {
		_, err := b.threadOf(ctx, n.Thread)
		switch {
		case err == nil:
			r.public = false // the thread has its own message
			r.late = false
			r.text(ctx, b.text(TextMaking, "<#"+n.Thread.String()+">"))
			return
		case ctx.Err() != nil:
			return
		case !isGone(err):
			r.text(ctx, b.text(TextWasCut)+" "+b.text(TextAskAgain))
			return
		}
	}
	r.text(ctx, b.text(TextWasCut)+" "+b.text(TextNothingMade))
}

// wasDeleted says whether a workspace is deleted that somebody was deleting.
func (b *Bot) wasDeleted(ctx context.Context, r *reply, v *listView, n askedNote) {
	w, err := b.cfg.Manager.Get(ctx, n.About)
	switch {
	case err == nil && attemptOf(w) == n.Attempt:
		v.Notice = b.text(TextNotDeleted, plain(orElse(w.Name, w.Branch), 200))
		return
	case err != nil && !errors.Is(err, workspace.ErrNotFound):
		b.told(ctx, "look up a workspace", err)
		v.Notice = renderError(err, b.link(r.at.Guild))
		return
	}
	v.Notice = b.text(TextDeleted)
	project, err := b.project(ctx, r.at)
	if err != nil {
		return
	}
	trash, err := b.cfg.Manager.Trash(ctx, project)
	b.failed(ctx, "look for what was deleted", err)
	for _, t := range trash {
		if t.Workspace.ThreadID == n.About && attemptOf(t.Workspace) == n.Attempt {
			v.Undo, v.UndoUntil = t.Workspace.ThreadID+"/"+t.ID, t.RestorableUntil
			v.Notice = renderDeleted(workspace.Deleted{Workspace: t.Workspace, Trashed: &t}, b.cfg.Now())
			return
		}
	}
}

// wasRestored says whether a workspace is back that somebody was bringing back.
func (b *Bot) wasRestored(ctx context.Context, r *reply, v *listView, n askedNote) {
	w, err := b.cfg.Manager.Get(ctx, n.About)
	switch {
	case err == nil:
		v.Undone = n.About + "/" + n.Trash
		v.Notice = b.text(TextRestored) + "\n" + renderReady(w, b.link(r.at.Guild))
	case errors.Is(err, workspace.ErrNotFound):
		v.Notice = b.text(TextNotRestored)
	default:
		b.told(ctx, "look up a workspace", err)
		v.Notice = renderError(err, b.link(r.at.Guild))
	}
}

// whatBecame finds out how far a merge has come that nobody works on any more.
func (b *Bot) whatBecame(ctx context.Context, n askedNote) (text string, rows []discord.LayoutComponent) {
	link := b.link(n.At.Guild)
	w, err := b.cfg.Manager.Get(ctx, n.At.Thread.String())
	if err != nil {
		return renderError(err, link), nil
	}
	if _, err := b.cfg.Merger.Recover(ctx, w.ProjectDirectory); err != nil {
		b.told(ctx, "clear up after a merge", err)
		return renderError(err, link), nil
	}
	p, err := b.cfg.Merger.Preview(ctx, workspace.MergeOptions{ThreadID: n.At.Thread.String(), Target: n.Target, Resolve: true})
	nothing := func(err error) bool { return errors.Is(err, workspace.ErrNothingToMerge) }
	switch {
	case err != nil && !nothing(err):
		b.told(ctx, "look at a merge", err)
		return renderError(err, link), nil
	case p.Conflict != nil && p.Conflict.Paused:
		return b.text(TextWasCut) + "\n" + renderConflict(p.Conflict), b.cutButtons(ctx, n.At.Thread)
	case err != nil || slices.ContainsFunc(p.Refusals, nothing):
		b.home(n.At.Thread, n.At.Title)
		return b.text(TextWasCut) + " " + b.text(TextMergeDone, codeOf(orElse(p.Target, orElse(n.Target, "the target")), 200)), nil
	}
	return b.text(TextWasCut) + " " + b.text(TextMergeUndone, codeOf(p.Target, 200)), nil
}
