package discordbot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/disgoorg/disgo/rest"

	"github.com/threadtree/threadtree/workspace"
)

// gone are Discord's answers that say that what was to be written to isn't
// there or isn't ours to write to. Trying again never helps.
var gone = []rest.JSONErrorCode{
	rest.JSONErrorCodeUnknownMessage, rest.JSONErrorCodeUnknownChannel, rest.JSONErrorCodeMissingAccess,
	rest.JSONErrorCodeLackPermissionsToPerformAction, rest.JSONErrorCodeOperationOnArchivedThread,
}

// isGone reports whether Discord will never take what it refused.
func isGone(err error) bool { return rest.IsJSONErrorCode(err, gone...) }

// failed logs an error that nobody in the chat can be told. Faults of the
// program, and what Discord refused without a known reason, are reported too.
func (b *Bot) failed(ctx context.Context, doing string, err error) {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return
	case isGone(err):
		b.cfg.Logger.InfoContext(ctx, "Discord doesn't take it", "doing", doing, "error", err)
		return
	}
	b.cfg.Logger.ErrorContext(ctx, "the bot failed", "doing", doing, "error", err)
	b.report(ctx, fmt.Errorf("%s: %w", doing, err))
}

// told reports an error that a person has been told, where it is a fault of the
// program and not an answer to what was asked.
func (b *Bot) told(ctx context.Context, doing string, err error) {
	switch workspace.CodeOf(err) {
	case workspace.ErrInternal, workspace.ErrStoreFailed, "":
		b.failed(ctx, doing, err)
	}
}

func (b *Bot) report(ctx context.Context, err error) {
	if b.cfg.OnError != nil {
		b.cfg.OnError(ctx, err)
	}
}

// recovered reports a panic, p being what recover has returned.
func (b *Bot) recovered(p any, what string) {
	if p != nil {
		b.failed(b.ctx, what, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
	}
}

// guarded does something in which a panic is an error like others.
func (b *Bot) guarded(what string, do func()) {
	defer func() { b.recovered(recover(), what) }()
	do()
}
