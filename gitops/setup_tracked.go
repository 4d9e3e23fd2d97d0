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
// Files that were changed before are left alone, and so are new ones.
func (r *Repository) restoreTracked(ctx context.Context, q setupRequest, before map[string]string) (warnings []string) {
	after, err := r.changes(ctx, q)
	if err != nil {
		return []string{"whether the set-up changed tracked files is not known: " + err.Error()}
	}
	left := since(before, after)
	if changed := left.tracked; len(changed) > 0 {
		restoreErr := r.restore(ctx, q, changed)
		// What stood in the place of a tracked file is gone now.
		if after, err = r.changes(ctx, q); err != nil {
			return []string{"the set-up changed tracked files, and whether they were restored is not known: " + nameSome(changed)}
		}
		left = since(before, after)
		restored := slices.DeleteFunc(changed, func(path string) bool { return slices.Contains(left.tracked, path) })
		if len(restored) > 0 {
			warnings = append(warnings, "the set-up changed tracked files, they were put back to what the commit has: "+
				nameSome(restored)+"; update them in a commit if the change was right")
		}
		if len(left.tracked) > 0 {
			warnings = append(warnings, "the set-up changed tracked files that could not be restored"+inBrackets(restoreErr)+": "+
				nameSome(left.tracked)+"; look at git diff there before committing")
		}
	}
	if len(left.added) > 0 {
		warnings = append(warnings, "the set-up added files to the index, they were left there: "+nameSome(left.added))
	}
	if len(left.untracked) > 0 {
		warnings = append(warnings, "the set-up made files that git does not ignore, they were left there: "+nameSome(left.untracked))
	}
	return warnings
}

func inBrackets(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// newChanges are paths that differ from HEAD and didn't before.
type newChanges struct{ tracked, added, untracked []string }

func since(before, after map[string]string) (n newChanges) {
	for path, state := range after {
		switch {
		case before[path] != "":
		case state == "??":
			n.untracked = append(n.untracked, path)
		case state[0] == 'A':
			n.added = append(n.added, path)
		default:
			n.tracked = append(n.tracked, path)
		}
	}
	return n
}

func (r *Repository) restore(ctx context.Context, q setupRequest, paths []string) error {
	_, err := r.git.run(ctx, command{
		dir:     q.directory,
		args:    []string{"restore", "--source=HEAD", "--staged", "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"},
		write:   true,
		env:     []string{"GIT_LITERAL_PATHSPECS=1"},
		stdin:   strings.NewReader(strings.Join(paths, "\x00") + "\x00"),
		inherit: q.inherit,
		timeout: restoreTimeout,
	})
	return err
}
