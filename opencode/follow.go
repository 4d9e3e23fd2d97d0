package opencode

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// follower hands one prompt to a session and follows it to its end.
type follower struct {
	client  *Client
	session Session
	tell    func(workspace.AgentEvent)
	log     *slog.Logger

	// mine has the session and the ones that it started itself.
	mine map[string]bool
	// told has the parts that were told already.
	told map[string]bool
	// failed is what the server says that went wrong in the turn.
	failed error
	// begun is true once the session was seen at work: one that is idle
	// before is one that has not begun.
	begun bool
	// tried is true once the prompt was sent, ended once its turn was seen to
	// be over.
	tried, ended bool
}

// checkEvery is how often the session is looked at besides listening: an event
// may be lost while the connection is.
const checkEvery = 5 * time.Second

// lostAfter is how often in a row that may fail before the server counts as
// gone, and the turn with it.
const lostAfter = 3

// idleAfter is how often in a row a session may be found not to have begun.
// The first turn of a server may have to load the project first.
const idleAfter = 36

// deafAfter is how often in a row the event stream may be found not to have
// begun.
const deafAfter = 6

// ask hands the prompt on and returns the answer. Where ctx ends the agent is
// stopped.
func (f *follower) ask(ctx context.Context, p Prompt) (workspace.Answer, error) {
	f.mine, f.told = map[string]bool{f.session.ID: true}, make(map[string]bool)
	last, err := f.lastMessage(ctx)
	if err != nil {
		return workspace.Answer{}, err
	}
	err = f.follow(ctx, p, last)
	if f.tried && !f.ended {
		// It may be at work, and nobody follows it any more.
		f.abort(ctx)
	}
	if ctx.Err() != nil {
		return workspace.Answer{SessionID: f.session.ID}, ctx.Err()
	}
	if err != nil {
		return workspace.Answer{SessionID: f.session.ID}, err
	}
	return f.answer(ctx, last)
}

// abort stops what the session does.
func (f *follower) abort(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := f.client.AbortSession(ctx, f.session.ID); err != nil {
		f.log.WarnContext(ctx, "the agent could not be stopped", "session", f.session.ID, "error", err)
	}
}

// lastMessage is the id of the newest message, "" for none.
func (f *follower) lastMessage(ctx context.Context) (string, error) {
	messages, err := f.client.Messages(ctx, f.session.ID, 1)
	if err != nil || len(messages) == 0 {
		return "", err
	}
	return messages[len(messages)-1].Info.ID, nil
}

// follow sends the prompt once it is listening, and returns when the turn is
// over.
func (f *follower) follow(ctx context.Context, p Prompt, last string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	events := make(chan Event, 64)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop(nil)
	wg.Go(func() {
		err := f.client.Events(ctx, func(e Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
		if ctx.Err() == nil {
			stop(err)
		}
	})
	lost, idle := 0, 0
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for {
		select {
		case e := <-events:
			if e.Type == "server.connected" && !f.tried {
				f.tried = true
				if err := f.client.PromptAsync(ctx, f.session.ID, p); err != nil {
					return err
				}
				continue
			}
			if f.hear(ctx, e) {
				f.ended = true
				return f.failed
			}
		case <-check.C:
			over, err := f.check(ctx, last)
			switch {
			case err != nil:
				// A server that was started anew has another address.
				if lost++; lost >= lostAfter {
					return err
				}
				continue
			case over:
				f.ended = true
				return f.failed
			case f.begun:
				idle = 0
			default:
				idle++
			}
			lost = 0
			switch {
			case !f.tried && idle >= deafAfter:
				return &Error{Op: "prompt", Err: ErrUnreachable, Message: "its events can't be heard"}
			case idle >= idleAfter:
				return &Error{Op: "prompt", Err: ErrTimeout, Message: "the agent did not begin"}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// check looks at the session besides listening: for its end, and for questions
// that were asked while nobody listened.
func (f *follower) check(ctx context.Context, last string) (over bool, err error) {
	if f.tried {
		if over, err = f.over(ctx, last); over || err != nil {
			return over, err
		}
	}
	open, err := f.client.Permissions(ctx, f.at())
	if err != nil {
		return false, err
	}
	for _, q := range open {
		if f.isMine(ctx, q.SessionID) {
			f.refuse(ctx, happening{ID: q.ID, SessionID: q.SessionID, Permission: q.Permission, Patterns: q.Patterns})
		}
	}
	if open, err = f.client.Questions(ctx, f.at()); err != nil {
		return false, err
	}
	for _, q := range open {
		if f.isMine(ctx, q.SessionID) {
			f.turnDown(ctx, happening{ID: q.ID, SessionID: q.SessionID})
		}
	}
	return false, nil
}

// isMine reports whether a session is the one that is followed, or was begun by
// it.
func (f *follower) isMine(ctx context.Context, id string) bool {
	if !f.mine[id] {
		s, err := f.client.Session(ctx, id)
		if err != nil || !f.mine[s.ParentID] {
			return false
		}
		f.mine[id] = true
	}
	return true
}

// over asks whether the turn is over: the session does nothing, and was seen at
// work or has a finished answer that it hadn't before.
func (f *follower) over(ctx context.Context, last string) (bool, error) {
	statuses, err := f.client.SessionStatuses(ctx, f.at())
	if err != nil {
		return false, err
	}
	if statuses[f.session.ID] != "" {
		f.begun = true
		return false, nil
	}
	if f.begun || f.failed != nil {
		return true, nil
	}
	messages, err := f.client.Messages(ctx, f.session.ID, 1)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	newest := messages[len(messages)-1].Info
	return newest.ID != last && newest.Role == "assistant" && (newest.Time.Completed > 0 || newest.Error != nil), nil
}

// happening is what the events that matter have in common.
type happening struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	Info      struct {
		ID       string `json:"id"`
		ParentID string `json:"parentID"`
	} `json:"info"`
	Part   Part `json:"part"`
	Status struct {
		Type string `json:"type"`
	} `json:"status"`
	Error      *MessageError `json:"error"`
	Permission string        `json:"permission"`
	Patterns   []string      `json:"patterns"`
}

// hear takes an event in and reports whether the turn is over. That the session
// is idle counts only once it was at work: it may be the end of an earlier
// turn.
func (f *follower) hear(ctx context.Context, e Event) (over bool) {
	var h happening
	if json.Unmarshal(e.Properties, &h) != nil {
		return false
	}
	switch e.Type {
	case "session.created", "session.updated":
		if f.mine[h.Info.ParentID] {
			f.mine[h.Info.ID] = true
		}
	case "permission.asked":
		if f.isMine(ctx, h.SessionID) {
			f.refuse(ctx, h)
		}
	case "question.asked":
		if f.isMine(ctx, h.SessionID) {
			f.turnDown(ctx, h)
		}
	case "message.part.updated":
		f.part(h.Part)
	case "session.status":
		f.begun = f.begun || h.SessionID == f.session.ID && h.Status.Type == "busy"
	case "session.error":
		if h.SessionID == f.session.ID && h.Error != nil {
			f.failed = &Error{Op: "prompt", Name: h.Error.Name, Message: h.Error.Error()}
		}
	case "session.idle":
		return h.SessionID == f.session.ID && (f.begun || f.failed != nil)
	}
	return false
}

// part tells of a piece of the answer that is complete, or of a tool's use.
func (f *follower) part(p Part) {
	if p.SessionID != f.session.ID || f.told[p.ID] {
		return
	}
	switch {
	case p.Type == "text" && p.Text != "" && p.Time.End > 0 && !p.Synthetic:
		f.told[p.ID] = true
		f.tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: p.Text})
	case p.Type == "tool" && p.State.Status == "running":
		f.told[p.ID] = true
		f.tell(workspace.AgentEvent{Kind: workspace.AgentTool, Text: p.Tool})
	}
}

// refusal is what the agent is told of what it would have had to ask for.
const refusalText = "Nobody is there to allow this. Stay in the workspace, or say what is needed and stop."

func (f *follower) refuse(ctx context.Context, h happening) {
	what := h.Permission
	if len(h.Patterns) > 0 {
		what += " " + h.Patterns[0]
	}
	f.tell(workspace.AgentEvent{Kind: workspace.AgentRefused, Text: what})
	if err := f.client.Decide(ctx, f.at(), h.ID, DecideReject, refusalText); err != nil && ctx.Err() == nil {
		f.log.WarnContext(ctx, "a permission question stays open", "session", h.SessionID, "question", what, "error", err)
	}
}

func (f *follower) turnDown(ctx context.Context, h happening) {
	f.tell(workspace.AgentEvent{Kind: workspace.AgentRefused, Text: "a question"})
	if err := f.client.RejectQuestion(ctx, f.at(), h.ID); err != nil && ctx.Err() == nil {
		f.log.WarnContext(ctx, "a question of the agent stays open", "session", h.SessionID, "error", err)
	}
}

func (f *follower) at() At {
	return At{Directory: f.session.Directory, WorkspaceID: f.session.WorkspaceID}
}

// answer collects what the agent has said after a message.
func (f *follower) answer(ctx context.Context, last string) (workspace.Answer, error) {
	answer := workspace.Answer{SessionID: f.session.ID}
	messages, err := f.since(ctx, last)
	if err != nil {
		return answer, err
	}
	for _, m := range messages {
		if m.Info.Role != "assistant" {
			continue
		}
		if m.Info.Error != nil {
			return answer, &Error{Op: "prompt", Name: m.Info.Error.Name, Message: fmt.Sprintf("the agent stopped: %v", m.Info.Error)}
		}
		for _, part := range m.Parts {
			if part.Type == "text" && part.Text != "" && !part.Synthetic {
				answer.Texts = append(answer.Texts, part.Text)
			}
		}
	}
	return answer, nil
}

// since returns the messages after one, or all there are for "". A session may
// be long: as few of the newest are read as will do.
func (f *follower) since(ctx context.Context, last string) ([]Message, error) {
	for limit := 50; ; limit *= 4 {
		messages, err := f.client.Messages(ctx, f.session.ID, limit)
		if err != nil {
			return nil, err
		}
		for i, m := range messages {
			if m.Info.ID == last {
				return messages[i+1:], nil
			}
		}
		if len(messages) < limit {
			if last == "" {
				return messages, nil
			}
			return nil, &Error{Op: "read session", Err: ErrMalformed, Message: "what was said before is gone, so what is new can't be told"}
		}
	}
}
