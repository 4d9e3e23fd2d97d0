// Package discordbot is Discord over the library: it parses what people type
// and press, calls the library, and shows what came of it. It knows no git, no
// SQL and no rule of its own.
//
// A [Bot] registers its commands on a handler.Mux of disgo's, which may have
// commands of the program's own besides. Each interaction is answered at once,
// before anything is looked up; the work then goes on in the background and
// ends in an edit of that answer.
//
// What must outlive a restart is kept in the store's notes: what was asked for
// and isn't answered yet, the status messages that are not final yet, the
// messages to the agent that wait for their turn, and which list of a person is
// the newest. [Bot.Start] goes on with them, and finds out what happened to the
// threads meanwhile and what was said in them. No message for the agent is lost
// in silence: it is handed on, or the person is told to send it again.
//
// A thread that is archived or deleted keeps its workspace; the Manager is told
// with NoteThread, so that lists and collectors know.
package discordbot
