package discordbot

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// statusNote is what must be known of a status message after a restart.
type statusNote struct {
	Channel snowflake.ID `json:"channel"`
	// Message is 0 where it isn't sent yet, or could not be.
	Message snowflake.ID `json:"message,omitempty"`
	// StarterChannel and Starter are the message that gets the tree, 0 for
	// none.
	StarterChannel snowflake.ID `json:"starter_channel,omitempty"`
	Starter        snowflake.ID `json:"starter,omitempty"`
	// Private is true for a private thread, which no message begins.
	Private bool `json:"private,omitempty"`
	// From is the thread whose conversation goes on, 0 for none.
	From snowflake.ID `json:"from,omitempty"`
	// Settled is true once it is known what became of the workspace, and Final
	// is what to say of it.
	Settled bool   `json:"settled,omitempty"`
	Final   string `json:"final,omitempty"`
	// Again is how often the making was begun again.
	Again int `json:"again,omitempty"`
	// Create is what is being made.
	Create creation `json:"create,omitzero"`
}

// creation is what a workspace is made from.
type creation struct {
	Project string `json:"project"`
	Name    string `json:"name,omitempty"`
	Title   string `json:"title,omitempty"`
	Base    string `json:"base,omitempty"`
	// Branch is the one in the thread's title, "" for a thread that somebody
	// else has made.
	Branch string `json:"branch,omitempty"`
}

// label is what the workspace is called while it has no name yet.
func (c creation) label() string { return orElse(c.Branch, orElse(c.Name, c.Title)) }

// editEvery is the least time between two edits of a status message: Discord
// takes five in five seconds.
const editEvery = 1200 * time.Millisecond

// status is a message that follows a piece of work. Nothing waits for it but
// the end, and nothing fails with it.
type status struct {
	b       *Bot
	channel snowflake.ID
	sent    func(ctx context.Context, message snowflake.ID)

	mu sync.Mutex
	// next is the newest text that is not shown yet, "" for none.
	next string
	wake chan struct{}
	// left is closed once nothing but the end is to be shown, and done once
	// nobody shows anything.
	left, done chan struct{}

	// message and shown are the follower's alone until it is done.
	message snowflake.ID
	shown   string
}

// newStatus sends a status message in the background, or goes on with one that
// was sent; sent is told its id.
func (b *Bot) newStatus(ctx context.Context, channel, message snowflake.ID, text string, sent func(context.Context, snowflake.ID)) *status {
	s := &status{b: b, channel: channel, message: message, sent: sent, wake: make(chan struct{}, 1), left: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer func() { b.recovered(recover(), "follow with a status message") }()
		s.follow(ctx)
	}()
	s.set(text)
	return s
}

// set shows a text as soon as may be; one that comes before it was shown
// replaces it.
func (s *status) set(text string) {
	s.mu.Lock()
	s.next = text
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// follow shows the texts, one after the other.
func (s *status) follow(ctx context.Context) {
	for range s.wake {
		text := s.take()
		if text == "" || text == s.shown {
			continue
		}
		s.b.failed(ctx, "show a status message", s.show(ctx, text))
		select {
		case <-time.After(editEvery):
		case <-s.left:
		case <-ctx.Done():
		}
	}
}

func (s *status) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.next
	s.next = ""
	return text
}

// show sends the message, or edits it.
func (s *status) show(ctx context.Context, text string) error {
	s.shown = text
	if s.message == 0 {
		message, err := s.b.send(ctx, s.channel, quiet(text))
		if err != nil {
			return err
		}
		s.message = message.ID
		if s.sent != nil {
			s.sent(ctx, message.ID)
		}
		return nil
	}
	content := clip(text, maxContent)
	return s.b.edit(ctx, s.channel, s.message, discord.MessageUpdate{Content: &content, AllowedMentions: nobody()})
}

// leave stops showing anything.
func (s *status) leave() {
	close(s.left)
	close(s.wake)
	<-s.done
}

// endAgain is how long to wait before the last text is shown again that Discord
// didn't take.
var endAgain = [...]time.Duration{time.Second, 4 * time.Second}

// end shows the last text and reports whether it is shown, or never can be.
// Where the message was never sent, or is gone, the text is a new message.
func (s *status) end(ctx context.Context, text string) bool {
	s.mu.Lock()
	s.next = ""
	s.mu.Unlock()
	s.leave()
	err := s.last(ctx, text)
	for _, wait := range endAgain {
		if err == nil || isGone(err) {
			break
		}
		select {
		case <-time.After(wait):
			err = s.last(ctx, text)
		case <-ctx.Done():
		}
	}
	s.b.failed(ctx, "show a status message", err)
	return err == nil || isGone(err)
}

// last tries to show the last text once.
func (s *status) last(ctx context.Context, text string) error {
	ctx = context.WithoutCancel(ctx)
	err := s.show(ctx, text)
	if err != nil && s.message != 0 {
		known := s.message
		s.message = 0
		if err = s.show(ctx, text); err != nil && !isGone(err) {
			s.message = known
		}
	}
	return err
}

// resumeStatus brings the status messages of an earlier run to their end.
func (b *Bot) resumeStatus(ctx context.Context) error {
	notes, err := b.cfg.Store.ListNotes(ctx, notesStatus)
	if err != nil {
		return err
	}
	for _, note := range notes {
		b.spawn("go on with a status message", func(ctx context.Context) { b.resumeOne(ctx, note.Key) })
	}
	return nil
}

// mostAgain bounds how often what was cut short is begun again: it may be what
// ends the bot.
const mostAgain = 2

func (b *Bot) resumeOne(ctx context.Context, thread string) {
	var n statusNote
	if _, found, err := b.readNote(ctx, notesStatus, thread, &n); err != nil || !found {
		b.failed(ctx, "read a status note", err)
		return
	}
	if _, err := b.threadOf(ctx, n.Channel); isGone(err) {
		b.resumeWithoutThread(ctx, thread, n)
		return
	}
	if n.Message == 0 {
		n.Message = b.findStatus(ctx, n.Channel)
	}
	if n.Final != "" {
		b.shownLast(ctx, b.newStatus(ctx, n.Channel, n.Message, "", nil), thread, n.Final)
		return
	}
	w, err := b.cfg.Manager.Await(ctx, thread)
	if ctx.Err() != nil {
		return
	}
	missing := errors.Is(err, workspace.ErrNotFound) && !errors.Is(err, workspace.ErrDeleted)
	if (missing || w.Status == workspace.StatusError) && n.Create.Project != "" && n.Again < mostAgain {
		// It had not been begun, or was cut short.
		n.Again++
		b.failed(ctx, "note a status message", b.putStatus(ctx, thread, n))
		b.create(ctx, thread, n)
		return
	}
	s := b.newStatus(ctx, n.Channel, n.Message, "", nil)
	b.finishCreate(ctx, s, thread, n, w, err)
}

// resumeWithoutThread clears up where the thread was never made, or is gone or
// hidden by now. A workspace that there is stays.
func (b *Bot) resumeWithoutThread(ctx context.Context, thread string, n statusNote) {
	_, err := b.cfg.Manager.Await(ctx, thread)
	if ctx.Err() != nil {
		return
	}
	if errors.Is(err, workspace.ErrNotFound) && n.Starter != 0 {
		b.unsend(ctx, n.StarterChannel, n.Starter)
	}
	b.cfg.Logger.InfoContext(ctx, "a workspace's thread is not there, or can't be seen", "thread", thread)
	b.forgetStatus(ctx, thread)
}

// findStatus finds a status message that was sent and could not be noted any
// more: it is the bot's first one in its thread.
func (b *Bot) findStatus(ctx context.Context, thread snowflake.ID) snowflake.ID {
	opt, cancel := within(ctx)
	defer cancel()
	messages, err := b.api().GetMessages(thread, 0, 0, thread, 20, opt)
	if err != nil {
		b.failed(ctx, "look for a status message", err)
		return 0
	}
	var first snowflake.ID
	for _, m := range messages {
		if m.Author.ID == b.self && m.Type == discord.MessageTypeDefault && (first == 0 || m.ID < first) {
			first = m.ID
		}
	}
	return first
}

// putStatus notes a status message that isn't final yet.
func (b *Bot) putStatus(ctx context.Context, thread string, n statusNote) error {
	return changeNote(ctx, b, notesStatus, thread, func(v *statusNote) bool { *v = n; return true })
}

// settled notes what became of a workspace, as it is to be told.
func (b *Bot) settled(ctx context.Context, thread, final string) {
	err := changeNote(ctx, b, notesStatus, thread, func(v *statusNote) bool {
		v.Settled, v.Final = true, final
		return v.Channel != 0
	})
	b.failed(ctx, "note what became of a workspace", err)
}

// shownLast ends a status message, and forgets it if that is seen: otherwise
// the next run says it.
func (b *Bot) shownLast(ctx context.Context, s *status, thread, final string) {
	if s.end(ctx, final) {
		b.forgetStatus(ctx, thread)
	}
}

// sentStatus notes the id of a status message, if it isn't final by now.
func (b *Bot) sentStatus(ctx context.Context, thread string, message snowflake.ID) {
	err := changeNote(ctx, b, notesStatus, thread, func(v *statusNote) bool {
		v.Message = message
		return v.Channel != 0
	})
	b.failed(ctx, "note a status message", err)
}

// forgetStatus drops the note of a status message that is final.
func (b *Bot) forgetStatus(ctx context.Context, thread string) {
	err := changeNote(context.WithoutCancel(ctx), b, notesStatus, thread, func(*statusNote) bool { return false })
	b.failed(ctx, "forget a status note", err)
}
