package discordbot

import (
	"context"
	"errors"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// lane is what is said in one thread: taken in one message at a time, and
// handed on one at a time. It is there while somebody is at it.
type lane struct {
	// inbox are the messages that are to be taken in, and taking is true while
	// somebody is at it.
	inbox  []discord.Message
	taking bool
	// running is true while somebody hands messages on, and again where there
	// may be more by now; it is the bot's mutex that guards all.
	running, again bool
}

// laneOf returns a thread's lane; the bot's mutex is held.
func (b *Bot) laneOf(thread snowflake.ID) *lane {
	l := b.lanes[thread]
	if l == nil {
		l = &lane{}
		b.lanes[thread] = l
	}
	return l
}

// leave forgets a lane at which nobody is; the bot's mutex is held.
func (b *Bot) leave(thread snowflake.ID) {
	if l := b.lanes[thread]; l != nil && !l.taking && !l.running {
		delete(b.lanes, thread)
	}
}

// arrived has a message taken in, after those that came before it. It is taken
// in also while the bot closes: the next run hands it on then.
func (b *Bot) arrived(m discord.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		go b.guarded("say that a message came too late", func() {
			b.notTaken(context.Background(), m, errors.New("the bot is closed"))
		})
		return
	}
	l := b.laneOf(m.ChannelID)
	l.inbox = append(l.inbox, m)
	if !l.taking {
		l.taking = true
		b.do("take messages in", func(ctx context.Context) { b.takeAll(ctx, m.ChannelID, l) })
	}
}

// takeAll takes in what is in a lane's inbox until it is empty.
func (b *Bot) takeAll(ctx context.Context, thread snowflake.ID, l *lane) {
	for {
		b.mu.Lock()
		if len(l.inbox) == 0 {
			l.taking = false
			b.leave(thread)
			b.mu.Unlock()
			return
		}
		m := l.inbox[0]
		l.inbox = l.inbox[1:]
		b.mu.Unlock()
		b.takeOne(ctx, m)
	}
}

// takeWithin bounds how long it may take to take a message in.
const takeWithin = 20 * time.Second

// takeAgain is how long to wait before a message is taken in again where that
// failed.
var takeAgain = [...]time.Duration{time.Second, 3 * time.Second}

// takeOne takes a message in, to the end also where the bot is being closed.
// Where it can't, the person is told.
func (b *Bot) takeOne(ctx context.Context, m discord.Message) {
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeWithin)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeWithin/2, cancel) })()
	err := errors.New("a panic")
	defer func() {
		if err != nil {
			b.recovered(recover(), "take a message in")
			b.notTaken(ctx, m, err)
		}
	}()
	err = b.takeIn(soon, m)
	for _, wait := range takeAgain {
		if err == nil || ctx.Err() != nil {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-soon.Done():
		}
		err = b.takeIn(soon, m)
	}
	if err == nil {
		b.passOver(soon, m.ChannelID, m.ID)
	}
}

// lost is the reaction on a message that should have been handed on, and
// can't be.
const lost = "❌"

// notTaken says that a message is lost, where it was meant for the agent as far
// as can be told without the store: in a thread in which the bot is.
func (b *Bot) notTaken(ctx context.Context, m discord.Message, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeWithin/2)
	defer cancel()
	b.failed(ctx, "take a message in", why)
	if b.cfg.Agent == nil || !b.isIn(ctx, m.ChannelID) {
		return
	}
	b.react(ctx, m.ChannelID, m.ID, lost)
	_, err := b.send(ctx, m.ChannelID, quiet(b.text(TextNotTaken)).WithMessageReferenceByID(m.ID))
	b.failed(ctx, "say that a message was not taken", err)
	if err == nil {
		b.passOver(ctx, m.ChannelID, m.ID)
	}
}

// isIn reports whether the bot is in a thread.
func (b *Bot) isIn(ctx context.Context, id snowflake.ID) bool {
	thread, err := b.threadOf(ctx, id)
	if err != nil {
		return false
	}
	if thread.OwnerID == b.self {
		return true
	}
	opt, cancel := within(ctx)
	defer cancel()
	_, err = b.api().GetThreadMember(id, b.self, false, opt)
	return err == nil
}

// handAgain is how long to wait before messages are handed on again where what
// they wait for can't be found out.
var handAgain = [...]time.Duration{time.Second, 4 * time.Second, 15 * time.Second}

// kick has what waits in a thread handed on, if nobody is at it.
func (b *Bot) kick(thread snowflake.ID) {
	if b.cfg.Agent == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return // the next run hands it on
	}
	l := b.laneOf(thread)
	if l.running {
		l.again = true
		return
	}
	l.running = true
	b.do("hand messages on", func(ctx context.Context) {
		idle := false
		defer func() {
			if !idle {
				b.stop(thread, l)
			}
		}()
		for !idle {
			b.handAll(ctx, thread)
			idle = b.idle(thread, l)
		}
	})
}

// handAll hands on what waits in a thread.
func (b *Bot) handAll(ctx context.Context, thread snowflake.ID) {
	failures := 0
	for more := true; more && !b.isClosing() && ctx.Err() == nil; {
		var err error
		if more, err = b.handOn(ctx, thread); err == nil {
			failures = 0
			continue
		}
		if failures == len(handAgain) {
			b.failed(ctx, "hand messages on", err)
			_, err = b.send(ctx, thread, quiet(b.text(TextStuck)))
			b.failed(ctx, "say that messages wait", err)
			return
		}
		select {
		case <-time.After(handAgain[failures]):
		case <-ctx.Done():
		}
		failures++
		more = true
	}
}

// idle ends the work on a lane, unless there may be more to hand on.
func (b *Bot) idle(thread snowflake.ID, l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.running, l.again = l.again && !b.closing, false
	b.leave(thread)
	return !l.running
}

func (b *Bot) stop(thread snowflake.ID, l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.running, l.again = false, false
	b.leave(thread)
}

// isBusy reports whether the agent is at work in a thread.
func (b *Bot) isBusy(thread snowflake.ID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lanes[thread]
	return l != nil && l.running
}
