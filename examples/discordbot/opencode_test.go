//go:build !race

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// model is a language model on loopback that writes a file and then says so.
func model(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role string `json:"role"`
			} `json:"messages"`
			Tools []any `json:"tools"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		delta, finish := map[string]any{"role": "assistant", "content": "It is written."}, "stop"
		if req.Messages[len(req.Messages)-1].Role != "tool" && len(req.Tools) > 0 {
			finish = "tool_calls"
			delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": "call_1", "type": "function",
				"function": map[string]any{"name": "write", "arguments": `{"filePath":"made.txt","content":"by the agent\n"}`},
			}}}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, choice := range []map[string]any{
			{"index": 0, "delta": delta, "finish_reason": nil}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish},
		} {
			chunk, _ := json.Marshal(map[string]any{
				"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "echo", "choices": []any{choice},
				"usage": map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
			})
			fmt.Fprintf(w, "data: %s\n\n", chunk)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return fmt.Sprintf(`{"model":"fake/echo","small_model":"fake/echo","provider":{"fake":{"npm":"@ai-sdk/openai-compatible",
		"name":"Fake","options":{"baseURL":%q,"apiKey":"x"},"models":{"echo":{"name":"Echo"}}}}}`, s.URL+"/v1")
}

// TestTheAgentWorksInTheThread goes the whole way: Discord, the bot, OpenCode,
// and a file in the workspace.
func TestTheAgentWorksInTheThread(t *testing.T) {
	if os.Getenv("OPENCODE_BIN") == "" {
		if os.Getenv("THREADTREE_OPENCODE_REQUIRED") != "" {
			t.Fatal("OPENCODE_BIN names no OpenCode")
		}
		t.Skip("needs OpenCode: npm install --prefix DIR opencode-ai (the version is in opencode/testdata/package.json), and OPENCODE_BIN=DIR/node_modules/opencode-ai/bin/opencode.exe")
	}
	w := newWorld(t, discordtest.Options{})
	for key, sub := range map[string]string{
		"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state",
	} {
		t.Setenv(key, filepath.Join(w.root, "user", sub))
	}
	t.Setenv("OPENCODE_CONFIG_CONTENT", model(t))
	o := w.options()
	o.Provider = "opencode"
	stop := start(t, o, slog.New(slog.DiscardHandler), &lines{})
	limit, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if _, err := w.Command(w.boss, w.channel, "new-worktree", map[string]any{"name": "one"}).WaitFinal(limit); err != nil {
		t.Fatal(err)
	}
	thread, err := w.WaitThread(limit, w.channel, func(discordtest.Channel) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WaitMessage(limit, thread.ID, func(m discordtest.Message) bool { return strings.Contains(m.Text(), "Send a message") }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Say(w.boss, thread.ID, "write the file"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WaitMessage(limit, thread.ID, func(m discordtest.Message) bool { return strings.Contains(m.Text(), "It is written.") }); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(w.root, "home", "worktrees", "*", "one", "made.txt"))
	if err != nil || len(made) != 1 {
		t.Errorf("%v, %v", made, err)
	}
	// A thread from it goes on with the conversation, in a workspace of its own.
	if _, err := w.Command(w.boss, thread.ID, "new-worktree", map[string]any{"name": "two"}).WaitFinal(limit); err != nil {
		t.Fatal(err)
	}
	second, err := w.WaitThread(limit, w.channel, func(c discordtest.Channel) bool { return c.ID != thread.ID })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WaitMessage(limit, second.ID, func(m discordtest.Message) bool {
		return strings.Contains(m.Text(), "The conversation goes on from <#"+thread.ID.String()+">")
	}); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
