package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// cantKeep refuses because the directory can't be kept.
func (t *trashing) cantKeep(lost []string, err error) error {
	e := &workspace.Error{
		Code: workspace.ErrLocked, Op: "remove", ThreadID: t.req.Workspace.ThreadID, Err: err,
		Message: strings.Join(lost, "; ") + nothingRemoved,
		Hint:    "see what keeps it, or force the delete: the rest is kept in a snapshot",
		Option:  workspace.OptionForce,
	}
	if errors.Is(err, os.ErrPermission) {
		e.Code = workspace.ErrPermissionDenied
	}
	return e
}

// lost says what a snapshot alone doesn't keep.
func (r *Repository) lost(ctx context.Context, j *trashJournal, err error) []string {
	lines := []string{fmt.Sprintf("the directory %s can't be put aside and kept whole: %v", j.Directory, err)}
	for _, what := range j.Lacks {
		lines = append(lines, "lost with it: "+what)
	}
	if ignored, err := r.ignored(ctx, j.Admin, j.Directory); err != nil {
		lines = append(lines, "lost with it: ignored files, which could not be listed")
	} else if len(ignored) > 0 {
		lines = append(lines, "lost with it: the ignored "+someOf(ignored))
	}
	return lines
}

// ignored lists what git ignores in a working copy, directories as a whole.
func (r *Repository) ignored(ctx context.Context, admin, dir string) ([]string, error) {
	out, err := r.git.run(ctx, command{
		dir: dir, env: []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + dir}, config: []string{"core.fsmonitor=false"},
		args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"},
	})
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// someOf joins a few names and counts the rest.
func someOf(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
