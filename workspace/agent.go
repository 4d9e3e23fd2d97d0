package workspace

import "context"

// Agent is the coding agent that threads talk to. All methods may be called
// concurrently; two prompts of one thread are answered one after the other.
type Agent interface {
	// Prompt hands text to the thread's session, which is made, where the
	// thread works, if there is none, and follows it until the agent is done.
	// tell hears of each step, in order. Nobody is asked anything meanwhile:
	// what the agent may not do without asking is refused to it. Where ctx
	// ends, the agent is stopped. project is the thread's project directory,
	// for a thread that never had a workspace. Codes: those of
	// [Manager.Resolve], provider_unavailable, provider_failed, timeout.
	Prompt(ctx context.Context, project, threadID, text string, tell func(AgentEvent)) (Answer, error)

	// Fork gives a thread with a workspace, and without a session, one that
	// begins with all that was said in the session of another thread, and goes
	// on with its model. Codes: not_found where that thread has no session or
	// the agent lost it, already_exists where the thread has one,
	// provider_unavailable, and provider_failed where the agent can't fork
	// into that workspace; the thread has no session then.
	Fork(ctx context.Context, from, threadID string) (Session, error)

	// Abort stops what the agent does for the thread; no error where it does
	// nothing.
	Abort(ctx context.Context, threadID string) error
}

// AgentEventKind says what an agent did.
type AgentEventKind string

// The kinds.
const (
	// AgentText is a piece of the answer, complete.
	AgentText AgentEventKind = "text"
	// AgentTool is the use of a tool that has begun.
	AgentTool AgentEventKind = "tool"
	// AgentRefused is something that the agent was not allowed.
	AgentRefused AgentEventKind = "refused"
)

// AgentEvent is a step of an agent's work.
type AgentEvent struct {
	Kind AgentEventKind
	// Text is the piece of the answer, or the tool or what was refused in a
	// few words.
	Text string
}

// Answer is what an agent said in the end.
type Answer struct {
	SessionID string
	// Texts are the pieces of the answer, in order. There may be none.
	Texts []string
}
