package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Prompt is what a person says to a session.
type Prompt struct {
	Text string
	// Model is the session's own if nil. One that the server doesn't know is
	// remembered by the session all the same.
	Model *SessionModel
	// Agent is the session's own if empty.
	Agent string
}

// MarshalJSON writes the prompt as the server reads it.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type model struct {
		ProviderID string `json:"providerID"`
		ModelID    string `json:"modelID"`
	}
	body := struct {
		Parts []part `json:"parts"`
		Model *model `json:"model,omitempty"`
		Agent string `json:"agent,omitempty"`
	}{Parts: []part{{"text", p.Text}}, Agent: p.Agent}
	if p.Model != nil {
		body.Model = &model{p.Model.ProviderID, p.Model.ID}
	}
	return json.Marshal(body)
}

// Message is a message of a session, by a person or by the agent.
type Message struct {
	Info  MessageInfo `json:"info"`
	Parts []Part      `json:"parts"`
}

// MessageInfo is what a message says of itself.
type MessageInfo struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	// Role is "user" or "assistant".
	Role string `json:"role"`
	// Path is where the agent worked.
	Path struct {
		Cwd  string `json:"cwd"`
		Root string `json:"root"`
	} `json:"path"`
	// Time is when it was begun and completed, in milliseconds since 1970;
	// Completed is 0 until then, and for a person's.
	Time struct {
		Created   int64 `json:"created"`
		Completed int64 `json:"completed"`
	} `json:"time"`
	// Error is why the agent could not answer.
	Error *MessageError `json:"error"`
}

// MessageError is why a message has no answer.
type MessageError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
	} `json:"data"`
}

// Error says it in a line.
func (e *MessageError) Error() string {
	if e.Data.Message != "" {
		return e.Data.Message
	}
	return e.Name
}

// Part is a piece of a message.
type Part struct {
	ID        string `json:"id"`
	MessageID string `json:"messageID"`
	SessionID string `json:"sessionID"`
	// Type is "text", "reasoning", "tool", "step-start", "step-finish" or
	// another.
	Type string `json:"type"`
	Text string `json:"text"`
	// Synthetic is true for text that nobody wrote to be read.
	Synthetic bool `json:"synthetic"`
	// Tool is the name of the tool that is used, State how that goes.
	Tool  string    `json:"tool"`
	State ToolState `json:"state"`
	// Time is when it was made, in milliseconds since 1970; End is 0 while it
	// still grows.
	Time struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	} `json:"time"`
}

// ToolState is how the use of a tool goes.
type ToolState struct {
	// Status is "pending", "running", "completed" or "error".
	Status string `json:"status"`
	Title  string `json:"title"`
	Output string `json:"output"`
	Error  string `json:"error"`
}

// Prompt hands a prompt to a session and returns the answer when it is there,
// whenever that is: bound it by ctx. Cancelling leaves the agent at work, see
// [Client.AbortSession].
func (c *Client) Prompt(ctx context.Context, sessionID string, p Prompt) (Message, error) {
	var m Message
	err := c.do(ctx, call{
		op: "prompt", method: http.MethodPost, path: sessionPath(sessionID, "/message"), body: p, out: &m, forever: true,
	})
	return m, err
}

// PromptAsync hands a prompt to a session and returns at once; what comes of
// it, failures too, is told by [Client.Events].
func (c *Client) PromptAsync(ctx context.Context, sessionID string, p Prompt) error {
	return c.do(ctx, call{op: "prompt", method: http.MethodPost, path: sessionPath(sessionID, "/prompt_async"), body: p})
}

// Messages returns the newest messages of a session, the oldest of them first;
// all for limit 0.
func (c *Client) Messages(ctx context.Context, sessionID string, limit int) ([]Message, error) {
	query := url.Values{}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var list []Message
	err := c.do(ctx, call{
		op: "read session", method: http.MethodGet, path: sessionPath(sessionID, "/message"), query: query, out: &list,
	})
	return list, err
}

// Question is something that the agent waits for a person to decide: a use of
// a tool, or a question of its own.
type Question struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionID"`
	// Permission is what the tool wants, "" for the agent's own question.
	Permission string   `json:"permission"`
	Patterns   []string `json:"patterns"`
}

// Permissions returns the uses of tools that wait for a decision.
func (c *Client) Permissions(ctx context.Context, at At) ([]Question, error) {
	return c.questions(ctx, at, "/permission")
}

// Questions returns the agents' own questions that wait for an answer.
func (c *Client) Questions(ctx context.Context, at At) ([]Question, error) {
	return c.questions(ctx, at, "/question")
}

func (c *Client) questions(ctx context.Context, at At, path string) ([]Question, error) {
	var list []Question
	err := c.do(ctx, call{
		op: "look for questions", method: http.MethodGet, path: path, directory: at.Directory, workspace: at.WorkspaceID, out: &list,
	})
	return list, err
}

// Decision is the answer to a permission question.
type Decision string

// The decisions.
const (
	DecideOnce   Decision = "once"
	DecideAlways Decision = "always"
	DecideReject Decision = "reject"
)

// Decide answers a permission question; message tells the agent why.
func (c *Client) Decide(ctx context.Context, at At, id string, d Decision, message string) error {
	body := map[string]string{"reply": string(d)}
	if message != "" {
		body["message"] = message
	}
	return c.do(ctx, call{
		op: "answer a permission question", method: http.MethodPost, path: "/permission/" + url.PathEscape(id) + "/reply",
		directory: at.Directory, workspace: at.WorkspaceID, body: body,
	})
}

// RejectQuestion tells the agent that nobody answers its question.
func (c *Client) RejectQuestion(ctx context.Context, at At, id string) error {
	return c.do(ctx, call{
		op: "turn down a question", method: http.MethodPost, path: "/question/" + url.PathEscape(id) + "/reject",
		directory: at.Directory, workspace: at.WorkspaceID,
	})
}
