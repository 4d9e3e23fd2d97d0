package discordbot

import (
	"cmp"
	"context"
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
		ok = len(n.Messages) > 0
		if ok {
			n.Messages[0].Started = true
			next = n.Messages[0]
		}
		return ok
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

// resumeQueues goes on with the messages that an earlier run left. One that was
// handed on by then is not handed on again.
func (b *Bot) resumeQueues(ctx context.Context) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesQueue)
	if err != nil {
		return err
	}
	for _, note := range notes {
		thread, err := snowflake.Parse(note.Key)
		if err != nil {
			continue
		}
		b.spawn("go on with messages that wait", func(ctx context.Context) {
			b.dropStarted(ctx, thread)
			b.kick(thread)
		})
	}
	return nil
}

func (b *Bot) dropStarted(ctx context.Context, thread snowflake.ID) {
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
	b.failed(ctx, "look for messages that wait", err)
	for _, message := range started {
		b.unreact(ctx, thread, message, working)
		_, err := b.send(ctx, thread, quiet(b.text(TextInterrupted)).WithMessageReferenceByID(message))
		b.failed(ctx, "say that the agent was interrupted", err)
	}
}
