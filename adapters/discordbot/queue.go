package discordbot

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/disgoorg/snowflake/v2"
)

// queued is a message to the agent that waits.
type queued struct {
	ID   snowflake.ID `json:"id"`
	Text string       `json:"text"`
	// Started is true once it was handed on: after a restart it isn't again,
	// since the agent may have done half of it.
	Started bool `json:"started,omitempty"`
}

// queueNote are the messages of a thread, in the order in which they were sent.
type queueNote struct {
	Messages []queued `json:"messages"`
}

// enqueue notes a message.
func (b *Bot) enqueue(ctx context.Context, thread snowflake.ID, m queued) error {
	return changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		if slices.ContainsFunc(n.Messages, func(q queued) bool { return q.ID == m.ID }) {
			return true
		}
		n.Messages = append(n.Messages, m)
		slices.SortStableFunc(n.Messages, func(a, b queued) int { return cmp.Compare(a.ID, b.ID) })
		return true
	})
}

// startNext notes that the next message is handed on, and returns it.
func (b *Bot) startNext(ctx context.Context, thread snowflake.ID) (next queued, ok bool) {
	err := changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
		i := slices.IndexFunc(n.Messages, func(q queued) bool { return !q.Started })
		if ok = i >= 0; ok {
			n.Messages[i].Started = true
			next = n.Messages[i]
		}
		return len(n.Messages) > 0
	})
	if err != nil {
		b.failed(ctx, "look for messages that wait", err)
		return queued{}, false
	}
	return next, ok
}

// finishNext forgets a message that was handed on.
func (b *Bot) finishNext(ctx context.Context, thread, message snowflake.ID) {
	err := changeNote(context.WithoutCancel(ctx), b, notesQueue, thread.String(), func(n *queueNote) bool {
		n.Messages = slices.DeleteFunc(n.Messages, func(q queued) bool { return q.ID == message })
		return len(n.Messages) > 0
	})
	b.failed(ctx, "forget a message that was handed on", err)
}

// dropQueue forgets what waits for a workspace that could not be made, and says
// so.
func (b *Bot) dropQueue(ctx context.Context, thread snowflake.ID) {
	dropped := 0
	err := changeNote(context.WithoutCancel(ctx), b, notesQueue, thread.String(), func(n *queueNote) bool {
		dropped = len(n.Messages)
		return false
	})
	b.failed(ctx, "forget messages that wait", err)
	if dropped > 0 {
		_, err := b.send(context.WithoutCancel(ctx), thread, quiet(b.text(TextQueueDropped, dropped)))
		b.failed(ctx, "say that messages were dropped", err)
	}
}

// resumeQueues goes on with the messages that an earlier run left.
func (b *Bot) resumeQueues(ctx context.Context) error {
	return b.eachQueue(ctx, func(thread snowflake.ID) error {
		b.kick(thread)
		return nil
	})
}

// eachQueue visits the threads in which messages wait.
func (b *Bot) eachQueue(ctx context.Context, visit func(thread snowflake.ID) error) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesQueue)
	errs := []error{err}
	for _, note := range notes {
		if thread, err := snowflake.Parse(note.Key); err == nil {
			errs = append(errs, visit(thread))
		}
	}
	return errors.Join(errs...)
}

// dropStarted forgets the messages that an earlier run has handed on, before
// this one hands on any, and says so in the background.
func (b *Bot) dropStarted(ctx context.Context) error {
	return b.eachQueue(ctx, func(thread snowflake.ID) error {
		var started []snowflake.ID
		err := changeNote(ctx, b, notesQueue, thread.String(), func(n *queueNote) bool {
			started = nil
			n.Messages = slices.DeleteFunc(n.Messages, func(q queued) bool {
				if q.Started {
					started = append(started, q.ID)
				}
				return q.Started
			})
			return len(n.Messages) > 0
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
