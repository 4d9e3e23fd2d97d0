package gitops

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"
)

// restoreTimeout bounds looking at the tracked files, and restoring them,
// after a set-up that may have used up its own time.
const restoreTimeout = time.Minute

// changes returns what differs from HEAD in the fresh worktree, by path, with
// the two letters of git's short status; a folder without a tracked file is
// one entry.
func (r *Repository) changes(ctx context.Context, q setupRequest) (map[string]string, error) {
	out, err := r.git.run(ctx, command{
		dir:     q.directory,
		args:    []string{"status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty"},
		inherit: q.inherit,
		timeout: restoreTimeout,
	})
	if err != nil {
		return nil, err
	}
	changed := make(map[string]string)
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) > 3 {
			changed[string(entry[3:])] = string(entry[:2])
		}
	}
	return changed, nil
}

// restoreTracked puts the tracked files that the set-up changed back to what
// HEAD has, so that a thread doesn't begin with changes that it didn't make.
// Files that were changed before are left alone.
func (r *Repository) restoreTracked(ctx context.Context, q setupRequest, before map[string]string) []string {
	after, err := r.changes(ctx, q)
	if err != nil {
		return []string{"whether the set-up changed tracked files is not known: " + err.Error()}
	}
	var restorable, added, untracked []string
	for path, state := range after {
		switch {
		case before[path] != "":
		case state == "??":
			untracked = append(untracked, path)
		case state[0] == 'A':
			added = append(added, path)
		default:
			restorable = append(restorable, path)
		}
	}
	var warnings []string
	if len(added) > 0 {
		warnings = append(warnings, "the set-up added files to the index, they were left there: "+nameSome(added))
	}
	if len(untracked) > 0 {
		warnings = append(warnings, "the set-up made files that git does not ignore, they were left there: "+nameSome(untracked))
	}
	if len(restorable) == 0 {
		return warnings
	}
	slices.Sort(restorable)
	_, err = r.git.run(ctx, command{
		dir:     q.directory,
		args:    []string{"restore", "--source=HEAD", "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"},
		write:   true,
		env:     []string{"GIT_LITERAL_PATHSPECS=1"},
		stdin:   strings.NewReader(strings.Join(restorable, "\x00") + "\x00"),
		inherit: q.inherit,
		timeout: restoreTimeout,
	})
	if err != nil {
		return append(warnings, "the set-up changed tracked files, and they could not be restored ("+err.Error()+
			"): "+nameSome(restorable)+"; look at git diff there before committing")
	}
	return append(warnings, "the set-up changed tracked files, they were put back to what the commit has: "+
		nameSome(restorable)+"; update them in a commit if the change was right")
}
