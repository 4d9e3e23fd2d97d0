package discordbot

import (
	"errors"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// outputter is an error that holds the end of what a program printed.
type outputter interface{ Output() string }

// renderError says what went wrong, what was left as it was, and what to do
// next; then what it is about.
func renderError(err error, link func(string) string) string {
	if err == nil {
		return ""
	}
	if c, ok := errors.AsType[*workspace.Conflict](err); ok {
		return renderConflict(c)
	}
	t := newText()
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		e = &workspace.Error{Code: workspace.CodeOf(err)}
	}
	t.add(orElse(iconOf[e.Code], "❌") + " " + prose(messageOf(e), 700, link))
	if hint := orElse(workspace.HintOf(err), hints[e.Code]); hint != "" {
		line := "Next: " + lower(prose(hint, 400, link))
		if workspace.OptionOf(err) == workspace.OptionForce {
			line += " The list has *Delete anyway…* for that."
		}
		t.add(line)
	}
	if w := e.Workspace; w != nil && w.ThreadID != "" && w.ThreadID != e.ThreadID {
		t.add(whereIs(*w, link))
	}
	t.addList(codesOf(e.Files, 100), 10, "file")
	if output := lastOutput(err); output != "" && !strings.Contains(e.Message, output) {
		t.add(block("", output, 600))
	}
	return t.String()
}

// renderReason says in one line, which goes on after a colon, what went wrong.
func renderReason(err error) string {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		e = &workspace.Error{Code: workspace.CodeOf(err)}
	}
	return lower(prose(messageOf(e), 300, nil))
}

// iconOf marks what is no failure.
var iconOf = map[workspace.Code]string{
	workspace.ErrInProgress: "⏳", workspace.ErrNotReady: "⏳", workspace.ErrNothingToMerge: "ℹ️",
	workspace.ErrAlreadyExists: "ℹ️", workspace.ErrNotFound: "ℹ️", workspace.ErrLocked: "🔒", workspace.ErrPermissionDenied: "🔒",
}

// hints say what to do next where an error doesn't say it itself.
var hints = map[workspace.Code]string{
	workspace.ErrTimeout:          "look at the list of worktrees, then try again",
	workspace.ErrInternal:         "look at the list of worktrees, then try again; if it stays, ask who runs the bot",
	"":                            "look at the list of worktrees, then try again; if it stays, ask who runs the bot",
	workspace.ErrStoreFailed:      "try again; if it stays, ask who runs the bot",
	workspace.ErrPermissionDenied: "ask who runs the bot to let it read and write there",
}

// messageOf returns the message of the outermost error that has one.
func messageOf(e *workspace.Error) string {
	var err error = e
	for err != nil {
		inner, ok := errors.AsType[*workspace.Error](err)
		if !ok {
			break
		}
		if inner.Message != "" {
			return inner.Message
		}
		err = inner.Err
	}
	switch e.Code {
	case workspace.ErrTimeout:
		return "it took longer than it may and was stopped"
	case workspace.ErrPermissionDenied:
		return "the bot may not read or write what this needs"
	case workspace.ErrInternal, "":
		return "something unexpected went wrong; the bot's log has more"
	}
	return "it was refused: " + strings.ReplaceAll(string(e.Code), "_", " ")
}

// whereIs says where the workspace of another thread is.
func whereIs(w workspace.Workspace, link func(string) string) string {
	line := "It is in " + threadRef(w.ThreadID, link)
	if w.Branch != "" {
		line += ", branch " + codeOf(w.Branch, 160)
	}
	if w.Directory != "" {
		line += ", folder " + codeOf(folderOf(w.Directory), 200)
	}
	return line + "."
}

// lastOutput returns the last lines of what the failed program printed, "" for
// nothing.
func lastOutput(err error) string {
	const most = 8
	o, ok := errors.AsType[interface {
		error
		outputter
	}](err)
	if !ok {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(clean(o.Output())), "\n")
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	for i, line := range lines {
		lines[i] = clip(line, 160)
	}
	return strings.Join(lines, "\n")
}

// lower makes a sentence go on after a colon.
func lower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
