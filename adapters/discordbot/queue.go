package discordbot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/disgoorg/snowflake/v2"
)

// queued is a message to the agent that waits.
type queued struct {
	ID   snowflake.ID `json:"id"`
	Text string       `json:"text"`
	// Waits is true where a reaction shows that it waits.
	Waits bool `json:"waits,omitempty"`
	// Started is true once it was handed on: after a restart it isn't again,
	// since the agent may have done half of it.
	Started bool `json:"started,omitempty"`
}

// queueNote are the messages of a thread, in the order in which they were sent.
type queueNote struct {
	Messages []queued `json:"messages,omitempty"`
	// Taken are the last ones that were taken in, so that none is twice, and
	// that what was said after them is found again.
	Taken []snowflake.ID `json:"taken,omitempty"`
}

// mostTaken is how many of the last messages are known.
const mostTaken = 50

// keep reports whether there is anything to remember.
func (n *queueNote) keep() bool { return len(n.Messages) > 0 || len(n.Taken) > 0 }

// enqueue notes a message, once.
func (b *Bot) enqueue(ctx context.Context, thread snowflake.ID, m queued) error {
	return changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		if slices.Contains(n.Taken, m.ID) {
			return true
		}
		n.Messages = append(n.Messages, m)
		slices.SortStableFunc(n.Messages, func(a, b queued) int { return cmp.Compare(a.ID, b.ID) })
		n.taken(m.ID)
		return true
	})
}

func (n *queueNote) taken(message snowflake.ID) {
	n.Taken = append(n.Taken, message)
	n.Taken = n.Taken[max(0, len(n.Taken)-mostTaken):]
}

// heardFrom notes that what is said in a thread is for the agent from now on:
// the next run finds what was said while nobody was there. The thread's own id
// stands for the message before the first.
func (b *Bot) heardFrom(ctx context.Context, thread snowflake.ID) {
	if b.cfg.Agent == nil {
		return
	}
	err := changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		if len(n.Taken) == 0 {
			n.taken(thread)
		}
		return true
	})
	b.failed(ctx, "note that a thread is heard", err)
}

// passOver notes of a message that isn't for the agent, or that its person was
// told to send again, that it was looked at, where anything is noted of the
// thread.
func (b *Bot) passOver(ctx context.Context, thread, message snowflake.ID) {
	var known queueNote
	_, found, err := b.readNote(ctx, notesQueue, thread.String(), &known)
	if err == nil && found && !slices.Contains(known.Taken, message) {
		err = changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
			if !slices.Contains(n.Taken, message) {
				n.taken(message)
			}
			return true
		})
	}
	b.failed(ctx, "note that a message was looked at", err)
}

// startNext notes that the next message is handed on, and returns it.
func (b *Bot) startNext(ctx context.Context, thread snowflake.ID) (next queued, ok bool, err error) {
	err = changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		i := slices.IndexFunc(n.Messages, func(q queued) bool { return !q.Started })
		if ok = i >= 0; ok {
			n.Messages[i].Started = true
			next = n.Messages[i]
		}
		return n.keep()
	})
	return next, ok && err == nil, err
}

// takeBack forgets a message that somebody has deleted before it was handed on.
func (b *Bot) takeBack(ctx context.Context, thread, message snowflake.ID) {
	var n queueNote
	_, found, err := b.readNote(ctx, notesQueue, thread.String(), &n)
	if err == nil && found && slices.ContainsFunc(n.Messages, func(q queued) bool { return q.ID == message && !q.Started }) {
		err = changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
			n.Messages = slices.DeleteFunc(n.Messages, func(q queued) bool { return q.ID == message && !q.Started })
			return n.keep()
		})
	}
	b.failed(ctx, "take a message back that was deleted", err)
}

// finishNext forgets a message that was handed on.
func (b *Bot) finishNext(ctx context.Context, thread, message snowflake.ID) {
	err := changeNote(context.WithoutCancel(ctx), b, notesQueue, thread.String(), func(n *queueNote) bool {
		n.Messages = slices.DeleteFunc(n.Messages, func(q queued) bool { return q.ID == message })
		return n.keep()
	})
	b.failed(ctx, "forget a message that was handed on", err)
}

// dropQueue forgets what waits for a workspace that could not be made, and says
// so.
func (b *Bot) dropQueue(ctx context.Context, thread snowflake.ID) {
	ctx = context.WithoutCancel(ctx)
	var dropped []queued
	err := changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		dropped, n.Messages = n.Messages, nil
		return n.keep()
	})
	b.failed(ctx, "forget messages that wait", err)
	if len(dropped) == 0 {
		return
	}
	for _, q := range dropped {
		if q.Waits {
			b.unreact(ctx, thread, q.ID, waits)
		}
	}
	_, err = b.send(ctx, thread, quiet(b.text(TextQueueDropped, counted(len(dropped), "message"))))
	b.failed(ctx, "say that messages were dropped", err)
}

// resumeQueues goes on with the messages that an earlier run left.
func (b *Bot) resumeQueues(ctx context.Context) error {
	return b.eachQueue(ctx, func(thread snowflake.ID, n queueNote) error {
		if len(n.Messages) > 0 {
			b.kick(thread)
		}
		return nil
	})
}

// lastSaid is the last message that was taken in, by thread.
func (b *Bot) lastSaid(ctx context.Context) (map[snowflake.ID]snowflake.ID, error) {
	said := make(map[snowflake.ID]snowflake.ID)
	err := b.eachQueue(ctx, func(thread snowflake.ID, n queueNote) error {
		if len(n.Taken) > 0 {
			said[thread] = slices.Max(n.Taken)
		}
		return nil
	})
	return said, err
}

// eachQueue visits the threads of whose messages something is noted.
func (b *Bot) eachQueue(ctx context.Context, visit func(thread snowflake.ID, n queueNote) error) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesQueue)
	errs := []error{err}
	for _, note := range notes {
		var n queueNote
		if thread, err := snowflake.Parse(note.Key); err == nil && json.Unmarshal(note.Value, &n) == nil {
			errs = append(errs, visit(thread, n))
		}
	}
	return errors.Join(errs...)
}

// dropStarted forgets the messages that an earlier run has handed on, before
// this one hands on any, and says so in the background.
func (b *Bot) dropStarted(ctx context.Context) error {
	return b.eachQueue(ctx, func(thread snowflake.ID, n queueNote) error {
		if !slices.ContainsFunc(n.Messages, func(q queued) bool { return q.Started }) {
			return nil
		}
		var started []snowflake.ID
		err := changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
			started = nil
			n.Messages = slices.DeleteFunc(n.Messages, func(q queued) bool {
				if q.Started {
					started = append(started, q.ID)
				}
				return q.Started
			})
			return n.keep()
		})
		if err == nil && len(started) > 0 {
			b.spawn("say that the agent was interrupted", func(ctx context.Context) { b.interrupted(ctx, thread, started) })
		}
		return err
	})
}

// interrupted says that the agent was interrupted at messages.
func (b *Bot) interrupted(ctx context.Context, thread snowflake.ID, messages []snowflake.ID) {
	for _, message := range messages {
		b.unreact(ctx, thread, message, working)
		_, err := b.send(ctx, thread, quiet(b.text(TextInterrupted)).WithMessageReferenceByID(message))
		b.failed(ctx, "say that the agent was interrupted", err)
	}
}
