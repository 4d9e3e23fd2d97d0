// Package discordbot is Discord over the library: it parses what people type
// and press, calls the library, and shows what came of it. It knows no git, no
// SQL and no rule of its own.
//
// A [Bot] registers its commands on a handler.Mux of disgo's, which may have
// commands of the program's own besides. Each interaction is answered at once,
// before anything is looked up; the work then goes on in the background and
// ends in an edit of that answer. What must outlive a restart is kept in the
// store's notes: the status messages that are not final yet, and the messages
// to the agent that wait for a workspace. [Bot.Start] goes on with them.
package discordbot
