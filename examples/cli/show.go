package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// print writes text to standard output, at once.
func (a *app) print(text string) error {
	_, err := io.WriteString(a.out, text)
	return unwritten(err)
}

// printPath writes a path as it is, for a program to read, or so that nothing
// in it steers the terminal.
func (a *app) printPath(path string) error {
	if a.outTTY {
		path = visible(path)
	}
	return a.print(path + "\n")
}

func unwritten(err error) error {
	if err == nil {
		return nil
	}
	return &workspace.Error{Code: workspace.CodeOf(err), Message: "the command was carried out, but its result could not be written: " + err.Error(), Err: err}
}

// showWorkspace prints a workspace in the form that was asked for.
func (a *app) showWorkspace(w workspace.Workspace) error {
	switch {
	case a.opts.JSON:
		return a.printJSON(workspaceOf(w))
	case a.opts.Quiet && w.Directory != "":
		return a.printPath(w.WorkDirectory())
	}
	return a.print(a.workspace(w))
}

// workspace is a workspace for people.
func (a *app) workspace(w workspace.Workspace) string {
	var b strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %s%s\n", pad(label, 9), value)
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", visible(cmp.Or(w.Name, w.Branch, "workspace")), statusOf(w))
	line("thread", visible(w.ThreadID))
	line("branch", branchLine(w))
	line("directory", a.path(w.WorkDirectory()))
	line("project", a.path(w.ProjectDirectory))
	line("session", visible(w.SessionID))
	line("made", madeLine(a, w))
	for _, warning := range w.Warnings {
		b.WriteString(a.hang("  ! ", warning))
	}
	if w.Status == workspace.StatusError {
		b.WriteString(a.hang("  ! ", w.Error))
	}
	return b.String()
}

func statusOf(w workspace.Workspace) string {
	switch w.Status {
	case workspace.StatusPending:
		return "being made, or interrupted"
	case workspace.StatusError:
		return "failed" + bracketed("", string(w.ErrorCode))
	}
	return string(w.Status)
}

func branchLine(w workspace.Workspace) string {
	switch {
	case w.Branch == "" && w.BaseCommit != "":
		return "none, at " + short(w.BaseCommit)
	case w.Branch == "" || w.Base == "":
		return visible(w.Branch)
	}
	return visible(w.Branch) + ", from " + visible(w.Base) + bracketed("", short(w.BaseCommit))
}

func madeLine(a *app, w workspace.Workspace) string {
	if w.CreatedAt.IsZero() {
		return ""
	}
	when := ago(w.CreatedAt, a.now())
	if w.Provider == workspace.ProviderAdopted {
		return "adopted " + when
	}
	return when + " by " + visible(w.Provider)
}

// progress returns what tells people of the steps of long work, nil where
// nobody wants to know.
func (a *app) progress() func(workspace.Event) {
	if a.opts.Quiet || a.opts.JSON && !a.errTTY {
		return nil
	}
	return func(e workspace.Event) {
		// Warnings come with the result.
		if e.Phase == workspace.PhaseDone || e.Warning {
			return
		}
		if e.Total > 0 {
			a.fileProgress(e)
			return
		}
		_, _ = io.WriteString(a.err, "· "+a.sentence(e.Message)+"\n")
	}
}

// fileProgress draws how far a step has come, over the line that it drew
// before, for those who can see it.
func (a *app) fileProgress(e workspace.Event) {
	if !a.errTTY {
		return
	}
	end := "\r"
	if e.Done == e.Total {
		end = "\n"
	}
	_, _ = fmt.Fprintf(a.err, "\x1b[K· %s: %d of %d%s", a.sentence(e.Message), e.Done, e.Total, end)
}

// report tells of an error: what happened and what was left as it was, and
// what to do next.
func (a *app) report(err error) {
	if a.opts.JSON {
		_ = encode(a.err, errorOf(err))
		return
	}
	e := errorOf(err).Error
	var b strings.Builder
	b.WriteString(foldAt("threadtree: ", a.sentence(e.Message)+" ["+string(e.Code)+"]", a.width, 2))
	// A directory that the message names needs no second line; the name of a
	// file may be a part of any word.
	files := slices.DeleteFunc(e.Files, func(file string) bool {
		return filepath.IsAbs(file) && strings.Contains(e.Message, file)
	})
	const most = 10
	for i, file := range files {
		if i == most {
			fmt.Fprintf(&b, "  and %d more\n", len(files)-most)
			break
		}
		b.WriteString("  " + a.path(file) + "\n")
	}
	if e.Hint != "" {
		b.WriteString(a.hang("→ ", e.Hint))
	}
	_, _ = io.WriteString(a.err, b.String())
}
