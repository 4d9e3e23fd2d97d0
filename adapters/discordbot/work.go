package discordbot

import (
	"context"
	"time"
)

// closeWithin bounds how long what is cancelled may take to end.
const closeWithin = 5 * time.Second

// Close takes no new work and waits for what is under way until ctx ends; what
// isn't done by then is cancelled, and left to Start and to a reconcile. Close
// then returns ctx's error, 5 s later at most, even where something doesn't
// end. Leave the gateway open meanwhile: what is asked for gets a line, and
// messages are noted for the next run, which hands them on. Close the client
// after, and then the store. What is said until the next run starts is found by
// that.
func (b *Bot) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	b.drain()
	b.mu.Unlock()
	select {
	case <-b.drained:
		b.cancel()
		return nil
	case <-ctx.Done():
	}
	b.cancel()
	select {
	case <-b.drained:
	case <-time.After(closeWithin):
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
	}
	return ctx.Err()
}

// drain ends the last of the work, where there is none left; the bot's mutex is
// held.
func (b *Bot) drain() {
	if b.closing && !b.closed && b.busy == 0 {
		b.closed = true
		close(b.drained)
	}
}

// spawn does work in the background. A panic in it is an error like others. It
// reports whether the work is taken: none is while the bot closes.
func (b *Bot) spawn(what string, work func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return false
	}
	b.do(what, work)
	return true
}

// do does work in the background, also while the bot closes; the bot's mutex is
// held, and the bot isn't closed.
func (b *Bot) do(what string, work func(ctx context.Context)) {
	b.busy++
	go func() {
		defer b.over()
		b.guarded(what, func() { work(b.ctx) })
	}()
}

func (b *Bot) over() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
	b.drain()
}

// isClosing reports whether no new work is taken.
func (b *Bot) isClosing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closing
}
