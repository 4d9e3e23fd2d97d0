package gitops

import (
	"context"
	"strings"
)

// commitNotes are the notes of "git notes", which follow without being asked
// for: a setting that adds to those of the configuration.
const (
	commitNotes     = "refs/notes/commits"
	rewriteNotesToo = "notes.rewriteRef=" + commitNotes
)

// copyNotes has the notes of rewritten commits follow them, as git rebase does
// where notes.rewriteRef names them, and those of "git notes" in any case,
// unless notes.rewrite.rebase is false. It is for the time after the move. Where
// it fails the commits are as they should be, without their notes.
//
// With again, which is for a copying that was interrupted, a new commit that
// has a note keeps that one alone: it is the copy, as far as it had come.
func (r *Repository) copyNotes(ctx context.Context, in composeInput, done composed, again bool) error {
	if !done.copyNotes || len(done.rewritten) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, w := range done.rewritten {
		lines.WriteString(w.old + " " + w.new + "\n")
	}
	gitDir := in.gitDir
	if gitDir == "" {
		gitDir = in.project.ID
	}
	env := []string{"GIT_DIR=" + gitDir}
	if again {
		env = append(env, "GIT_NOTES_REWRITE_MODE=ignore")
	}
	_, err := r.git.run(ctx, command{
		dir: gitDir, env: env, write: true, inherit: in.inherit, config: []string{rewriteNotesToo},
		args: []string{"notes", "copy", "--stdin", "--for-rewrite=rebase"}, stdin: strings.NewReader(lines.String()),
	})
	return failure("", "the notes of the commits could not be copied to the new ones; the commits are whole", "copy them with: git notes copy OLD NEW", err)
}
