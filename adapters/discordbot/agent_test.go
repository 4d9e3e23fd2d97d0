package discordbot

import (
	"context"
	"sync"

	"github.com/threadtree/threadtree/workspace"
)

// fakeAgent is an agent of the test's own.
type fakeAgent struct {
	mu       sync.Mutex
	prompts  []string
	sessions map[string]bool
	aborted  []string
	// forkErr is what a fork fails with.
	forkErr error
	// fork, if set, is called by Fork.
	fork func(ctx context.Context) error
	// stop, if set, is called by Abort.
	stop func()
	// turn does what the agent does; nil says what it was told.
	turn func(ctx context.Context, thread, text string, tell func(workspace.AgentEvent)) error
}

func newFakeAgent() *fakeAgent { return &fakeAgent{sessions: make(map[string]bool)} }

func (f *fakeAgent) Prompt(ctx context.Context, _, thread, text string, tell func(workspace.AgentEvent)) (workspace.Answer, error) {
	f.mu.Lock()
	f.prompts = append(f.prompts, thread+": "+text)
	f.sessions[thread] = true
	turn := f.turn
	f.mu.Unlock()
	if turn != nil {
		return workspace.Answer{}, turn(ctx, thread, text, tell)
	}
	said := "you said: " + text
	tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: said})
	return workspace.Answer{Texts: []string{said}}, nil
}

func (f *fakeAgent) Fork(ctx context.Context, from, thread string) (workspace.Session, error) {
	f.mu.Lock()
	fork := f.fork
	f.mu.Unlock()
	if fork != nil {
		if err := fork(ctx); err != nil {
			return workspace.Session{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.forkErr != nil {
		return workspace.Session{}, f.forkErr
	}
	if !f.sessions[from] {
		return workspace.Session{}, &workspace.Error{Code: workspace.ErrNotFound, Message: "the thread that it comes from has no session"}
	}
	f.sessions[thread] = true
	return workspace.Session{ThreadID: thread, ID: "s"}, nil
}

func (f *fakeAgent) Abort(_ context.Context, thread string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.aborted = append(f.aborted, thread)
	if f.stop != nil {
		f.stop()
	}
	return nil
}

// heard are the prompts so far.
func (f *fakeAgent) heard() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.prompts...)
}

// ctx and teller are short names for what a turn gets.
type (
	ctx    = context.Context
	teller = func(workspace.AgentEvent)
)
