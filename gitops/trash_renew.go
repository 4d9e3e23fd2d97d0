package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// keepSince sees to it that what was done in the directory since it was deleted
// isn't lost with it: the snapshot is taken again, or, where that goes as well,
// it is refused.
func (d *discarding) keepSince(ctx context.Context, all bool) error {
	if _, err := d.r.readSnapshot(ctx, d.p, d.j.Snapshot); all && err != nil && ctx.Err() == nil {
		return nil // There is nothing to compare with: its time is over.
	}
	if !d.j.paired(d.j.Hidden) {
		return d.refuseSince(d.untold(ctx))
	}
	taken, err := d.since(ctx, all)
	if err != nil || taken == nil {
		return err
	}
	if all {
		return d.refuseSince(d.r.pathsBetween(ctx, d.p, d.j.Snapshot, taken.commit))
	}
	return d.replaceSnapshot(ctx, *taken)
}

func (d *discarding) unknown(err error) error {
	return failure("", "whether something was done in "+d.j.Hidden+" since it was deleted could not be found out; nothing was let go", "see what git says, then try again", err)
}

// refuseSince refuses for what was done since, nil files for nothing.
func (d *discarding) refuseSince(files []string, err error) error {
	if err != nil || files == nil {
		return d.unknown(err)
	}
	what := "what is staged or committed"
	if len(files) > 0 {
		what = nameSome(files)
	}
	e := d.refuse(workspace.ErrDirtyWorktree, "restore it and look at it; deleted again, it is kept with that for the full time",
		"something was done in %s since it was deleted (%s), and nothing else has that", d.j.Hidden, what)
	refusal, ok := errors.AsType[*workspace.Error](e)
	if ok {
		refusal.Files = files
	}
	return e
}

// pathsBetween returns the paths in which two commits differ, never nil.
func (r *Repository) pathsBetween(ctx context.Context, p workspace.Project, from, to string) ([]string, error) {
	changes, err := r.treeChanges(ctx, r.openRefs(p.ID), from, to)
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.path)
	}
	return paths, err
}

// untold returns the files that differ from the snapshot in a directory which
// has no entry, nil for none: then git has to be told of it.
func (d *discarding) untold(ctx context.Context) ([]string, error) {
	scratch, err := os.MkdirTemp("", "threadtree-index-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	var files []string
	for _, args := range [][]string{
		{"read-tree", d.j.Snapshot + "^{tree}"},
		{"update-index", "-q", "--refresh"},
		{"diff-files", "--name-only", "-z", "--ignore-submodules=all"},
		{"ls-files", "-z", "--others", "--exclude-standard"},
	} {
		out, err := d.r.git.run(ctx, command{
			dir: d.j.Hidden, args: args, write: true, // it writes the scratch index
			env:    []string{"GIT_DIR=" + d.p.ID, "GIT_WORK_TREE=" + d.j.Hidden, "GIT_INDEX_FILE=" + filepath.Join(scratch, "index")},
			config: []string{"core.fsmonitor=false", "core.bare=false", "core.hooksPath=" + os.DevNull},
		})
		if err != nil && (args[0] != "update-index" || exitCode(err) < 0) {
			return nil, err
		}
		for _, name := range splitNUL(out) {
			// A repository of its own is told with what the snapshot lacks.
			if !strings.HasSuffix(name, "/") {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// since takes the snapshot again and returns it if something was done in the
// directory since, nil otherwise. With workOnly, other modes and an index that
// git refreshed are nothing.
func (d *discarding) since(ctx context.Context, workOnly bool) (*snapshotTaken, error) {
	unknown := func(err error) (*snapshotTaken, error) { return nil, d.unknown(err) }
	head, err := d.r.headOf(ctx, d.j.Admin)
	if err != nil {
		return unknown(err)
	}
	sha, _, err := d.r.openRefs(d.p.ID).checkedOut(ctx, head)
	if err != nil {
		return unknown(err)
	}
	v := verdict{directory: d.j.Hidden, admin: d.j.Admin, head: sha, branch: d.j.Own, tip: d.j.OwnTip}
	s := d.r.newSnapshotter(d.p, v, d.lock.inherit())
	old, oldErr := d.r.readSnapshot(ctx, d.p, d.j.Snapshot)
	s.previous, s.exact = d.j.Snapshot, true
	look, err := d.r.lookHard(ctx, d.j.Admin, d.j.Hidden, statusOptions{withoutSubmodules: true})
	var taken snapshotTaken
	if err == nil {
		taken, err = s.take(ctx, look)
	}
	switch {
	case err != nil && oldErr != nil && ctx.Err() == nil:
		return nil, nil // It could not be taken before either.
	case err != nil:
		return unknown(err)
	}
	if oldErr == nil && old.Head == sha {
		pairs := [][2]string{{d.j.Snapshot, taken.commit}, {old.Index, taken.message.Index}, {old.State, taken.message.State}}
		if workOnly {
			pairs = pairs[:2]
		}
		same, err := d.r.sameTrees(ctx, d.p, pairs...)
		if err != nil {
			return unknown(err)
		}
		if same {
			return nil, nil
		}
	}
	return &taken, nil
}

// replaceSnapshot has the ref keep another snapshot, which has the one before
// in its history.
func (d *discarding) replaceSnapshot(ctx context.Context, taken snapshotTaken) error {
	cant := func(err error) error {
		return failure("", "the snapshot could not be brought up to date; nothing was let go", "see what git says, then try again", err)
	}
	var err error
	if d.set, err = d.r.settings(ctx, d.p); err != nil {
		return cant(err)
	}
	if err := d.r.updateRef(ctx, d.p, d.set, d.lock.inherit(), d.j.Ref, taken.commit, d.j.Snapshot); err != nil {
		return cant(err)
	}
	d.j.Snapshot = taken.commit
	for _, line := range taken.lacks {
		if !slices.Contains(d.j.Lacks, line) {
			d.j.Lacks = append(d.j.Lacks, line)
		}
	}
	return noJournal(d.j.write(d.p.ID), "; nothing was let go")
}

// sameTrees reports whether the commits of each pair have the same tree. No
// commit is the same as no commit.
func (r *Repository) sameTrees(ctx context.Context, p workspace.Project, pairs ...[2]string) (bool, error) {
	args := []string{"rev-parse"}
	for _, pair := range pairs {
		if (pair[0] == "") != (pair[1] == "") {
			return false, nil
		}
		if pair[0] != "" {
			args = append(args, pair[0]+"^{tree}", pair[1]+"^{tree}")
		}
	}
	out, err := r.git.line(ctx, r.openRefs(p.ID).command(args...))
	if err != nil {
		return false, err
	}
	trees := strings.Split(out, "\n")
	for i := 1; i < len(trees); i += 2 {
		if trees[i] != trees[i-1] {
			return false, nil
		}
	}
	return true, nil
}
