package opencode

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// fakeModel is a language model on loopback, of the kind that OpenCode takes
// for an OpenAI-compatible one. What a person says decides what it does: a line
// "call TOOL JSON" makes it use a tool, and anything else is answered with
// "you said: …". The result of a tool is answered with "done: …".
type fakeModel struct {
	server *httptest.Server

	mu   sync.Mutex
	seen []string
	// hold, if not nil, keeps answers back until it is closed.
	hold chan struct{}
}

func newFakeModel() *fakeModel {
	f := &fakeModel{}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	return f
}

func (f *fakeModel) close() { f.server.Close() }

// config are OpenCode's settings for it.
func (f *fakeModel) config() string {
	return fmt.Sprintf(`{"model":"fake/echo","small_model":"fake/echo","provider":{"fake":{"npm":"@ai-sdk/openai-compatible",
		"name":"Fake","options":{"baseURL":%q,"apiKey":"x"},"models":{"echo":{"name":"Echo"},"other":{"name":"Other"}}}}}`, f.server.URL+"/v1")
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text is a message's text, in either of the two forms that there are.
func (m chatMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts)
	var all []string
	for _, p := range parts {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

func (f *fakeModel) serve(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model    string            `json:"model"`
		Messages []chatMessage     `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	last := req.Messages[len(req.Messages)-1]
	f.mu.Lock()
	f.seen = append(f.seen, req.Model+": "+last.text())
	hold := f.hold
	f.mu.Unlock()
	if hold != nil && len(req.Tools) > 0 {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	delta := map[string]any{"role": "assistant"}
	finish := "stop"
	switch tool, arguments, ok := toolCall(last.text()); {
	case last.Role == "tool":
		delta["content"] = "done: " + last.text()
	case ok && len(req.Tools) > 0:
		finish = "tool_calls"
		delta["tool_calls"] = []any{map[string]any{
			"index": 0, "id": fmt.Sprintf("call_%d", len(req.Messages)), "type": "function",
			"function": map[string]any{"name": tool, "arguments": arguments},
		}}
	default:
		delta["content"] = "you said: " + last.text()
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []map[string]any{
		{"index": 0, "delta": delta, "finish_reason": nil},
		{"index": 0, "delta": map[string]any{}, "finish_reason": finish},
	} {
		chunk, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "created": 1, "model": req.Model, "choices": []any{choice},
			"usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// toolCall reads "call TOOL JSON" out of what a person says.
func toolCall(text string) (tool, arguments string, ok bool) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "call "); found {
			return cutTwo(rest)
		}
	}
	return "", "", false
}

func cutTwo(rest string) (tool, arguments string, ok bool) {
	tool, arguments, ok = strings.Cut(rest, " ")
	return tool, arguments, ok
}

// saw reports whether the model was told a text.
func (f *fakeModel) saw(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.seen, func(s string) bool { return strings.Contains(s, text) })
}
