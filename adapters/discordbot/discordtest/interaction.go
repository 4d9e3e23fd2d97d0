package discordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// ErrNoAnswer is returned by waits for an answer that did not come in time:
// Discord shows that the application did not respond.
var ErrNoAnswer = errors.New("discordtest: the interaction got no answer in time")

// ErrNotOffered is wrapped by the errors of interactions that Discord doesn't
// let a person begin: an unknown command, a button that isn't there.
var ErrNotOffered = errors.New("discordtest: not offered")

// Choice is a suggestion of an autocompletion. Value is a string, or a float64
// for the numeric kinds.
type Choice struct {
	Name  string
	Value any
}

// Answer is what an interaction has been answered with so far.
type Answer struct {
	// Type is how the first answer was given.
	Type discord.InteractionResponseType
	// After is the time that the first answer took.
	After time.Duration
	// Message is the answer's message as it is now; for an update, the message
	// that has the component. It has no ID where the answer has no message or
	// the message was deleted.
	Message Message
	// FollowUps are the messages sent after, as they are now.
	FollowUps []Message
	// Choices are those of an autocompletion.
	Choices []Choice
	// Modal is the modal as it was sent.
	Modal json.RawMessage
}

// Deferred reports whether the first answer put the message off.
func (a Answer) Deferred() bool {
	return a.Type == discord.InteractionResponseTypeDeferredCreateMessage ||
		a.Type == discord.InteractionResponseTypeDeferredUpdateMessage
}

// Interaction is a command, autocompletion, component or modal on its way. It is
// safe for concurrent use.
type Interaction struct {
	d         *Discord
	id        snowflake.ID
	token     string
	kind      discord.InteractionType
	user      snowflake.ID
	channel   snowflake.ID
	message   *message // that has the component
	created   time.Time
	first     *firstAnswer
	followUps []*message
	err       error // why it was not begun
}

type firstAnswer struct {
	kind    discord.InteractionResponseType
	at      time.Time
	message *message
	choices []Choice
	modal   json.RawMessage
}

// begin makes an interaction of somebody who sees the channel; d.mu is held.
func (d *Discord) begin(kind discord.InteractionType, userID, channelID snowflake.ID) *Interaction {
	id := d.newID()
	in := &Interaction{d: d, id: id, token: "token-" + id.String(), kind: kind, user: userID, channel: channelID, created: d.opts.Now()}
	ch := d.channels[channelID]
	switch {
	case ch == nil:
		in.refuse("no channel %d", channelID)
	case d.permissions(userID, ch) == 0:
		in.refuse("user %d doesn't see channel %d", userID, channelID)
	}
	return in
}

func (in *Interaction) refuse(format string, args ...any) {
	in.err = fmt.Errorf("%w: %s", ErrNotOffered, fmt.Sprintf(format, args...))
}

// Wait blocks until the first answer has come and returns it. It returns
// [ErrNoAnswer] when Discord would have given up, an error that wraps
// [ErrNotOffered] when the interaction was not begun, and ctx's error when that
// ends first.
func (in *Interaction) Wait(ctx context.Context) (Answer, error) {
	return in.wait(ctx, func() bool { return in.first != nil })
}

// WaitFinal is Wait, but with a deferred answer it goes on until the message
// that was put off has come. For a deferred update that is the next edit of the
// component's message or the first follow-up.
func (in *Interaction) WaitFinal(ctx context.Context) (Answer, error) {
	in.d.mu.Lock()
	versions := 0
	if in.message != nil {
		versions = len(in.message.Versions)
	}
	in.d.mu.Unlock()
	return in.WaitAnswer(ctx, func(a Answer) bool {
		switch a.Type {
		case discord.InteractionResponseTypeDeferredCreateMessage:
			return !a.Message.Loading()
		case discord.InteractionResponseTypeDeferredUpdateMessage:
			return len(a.Message.Versions) > versions || len(a.FollowUps) > 0
		default:
			return true
		}
	})
}

// WaitAnswer is Wait, but goes on until the answer, with its edits and
// follow-ups, matches.
func (in *Interaction) WaitAnswer(ctx context.Context, match func(Answer) bool) (Answer, error) {
	return in.wait(ctx, func() bool { return in.first != nil && match(in.answer()) })
}

func (in *Interaction) wait(ctx context.Context, ready func() bool) (Answer, error) {
	if in.err != nil {
		return Answer{}, in.err
	}
	// A late answer is refused on arrival, so the timer only has to end the wait:
	// it is a little longer than the deadline, which still counts as in time.
	limit := in.d.opts.AnswerWithin - in.d.opts.Now().Sub(in.created) + time.Millisecond
	early, cancel := context.WithTimeoutCause(ctx, limit, ErrNoAnswer)
	defer cancel()
	if err := in.d.wait(early, func() bool { return in.first != nil }); err != nil {
		return Answer{}, err
	}
	if err := in.d.wait(ctx, ready); err != nil {
		return Answer{}, err
	}
	in.d.mu.Lock()
	defer in.d.mu.Unlock()
	return in.answer(), nil
}

// Answer returns what the interaction has been answered with so far, or false
// when it has no answer.
func (in *Interaction) Answer() (Answer, bool) {
	in.d.mu.Lock()
	defer in.d.mu.Unlock()
	if in.first == nil {
		return Answer{}, false
	}
	return in.answer(), true
}

// answer is the first answer and what came of it; d.mu is held.
func (in *Interaction) answer() Answer {
	a := Answer{Type: in.first.kind, After: in.first.at.Sub(in.created), Choices: in.first.choices, Modal: in.first.modal}
	if m := in.first.message; m != nil && in.d.present(m) {
		a.Message = m.snapshot()
	}
	for _, m := range in.followUps {
		if in.d.present(m) {
			a.FollowUps = append(a.FollowUps, m.snapshot())
		}
	}
	return a
}

func (d *Discord) present(m *message) bool {
	ch := d.channels[m.ChannelID]
	return ch != nil && ch.message(m.ID) == m
}
