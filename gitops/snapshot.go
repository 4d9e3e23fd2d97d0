package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// A snapshot is a commit whose tree is a working copy as it is, ignored files
// left out: what is changed or untracked with its very bytes, and the rest as
// the index has it. Its parents are the commit that was checked out, a commit
// whose tree is the index, and, where that doesn't say all, one whose tree is
// the rest of the state: see snapshotState. No index, file or ref is written.

// snapshotTries is how often a working copy is looked at where it changes
// while it is read.
const snapshotTries = 3

// snapshotter takes one snapshot.
type snapshotter struct {
	r *Repository
	p workspace.Project
	// admin is the worktree's entry, "" where only the commit is kept; dir is
	// its directory, "" where that is gone and the index is taken for it.
	admin, dir string
	// head is the commit that is checked out, "" where there is none. tip is
	// a further commit to keep, "" for none.
	head, tip string
	// previous is a snapshot that this one takes the place of, "" for none.
	previous string
	inherit  []*os.File
	// of says what working copy it is taken of, ofDeleted if empty.
	of string
	// exact is true where the snapshot must do without the directory.
	exact bool
	// lacks has a line for each thing that the snapshot can't hold.
	lacks []string

	scratch string
	index   string
	config  []string
	usual   map[string]fs.FileMode
	// made are the objects that are made here. They are written at the end,
	// all by one git.
	made *quarantine
}

// snapshotTaken is a snapshot that was taken.
type snapshotTaken struct {
	commit  string
	message snapshotMessage
	lacks   []string
}

// snapshotTrees are the trees of a snapshot's commits; state is "" for none.
type snapshotTrees struct{ work, index, state string }

// take takes the snapshot of what a status found. What has changed since is
// looked at again.
func (s *snapshotter) take(ctx context.Context, look lookedAt) (snapshotTaken, error) {
	lacks := s.lacks
	for try := 1; ; try++ {
		s.lacks = lacks
		taken, err := s.takeOnce(ctx, look)
		if err == nil || ctx.Err() != nil || try == snapshotTries || s.dir == "" {
			return taken, err
		}
		if again, lookErr := s.r.lookAt(ctx, s.admin, s.dir, look.options); lookErr == nil {
			look = again
		}
	}
}

func (s *snapshotter) takeOnce(ctx context.Context, look lookedAt) (snapshotTaken, error) {
	var err error
	if s.scratch, err = os.MkdirTemp("", "threadtree-snapshot-"); err != nil {
		return snapshotTaken{}, err
	}
	defer func() { _ = os.RemoveAll(s.scratch) }()
	s.index = filepath.Join(s.scratch, "index")
	if s.made, err = s.newObjects(ctx); err != nil {
		return snapshotTaken{}, err
	}
	trees, err := s.trees(ctx, look)
	if err != nil {
		return snapshotTaken{}, err
	}
	commit, message, err := s.commits(ctx, trees)
	return snapshotTaken{commit: commit, message: message, lacks: s.lacks}, err
}

// trees writes what the snapshot is made of.
func (s *snapshotter) trees(ctx context.Context, look lookedAt) (snapshotTrees, error) {
	s.config = look.options.config
	head, err := s.headTree(ctx)
	if err != nil || s.admin == "" {
		return snapshotTrees{work: head, index: head}, err
	}
	files := s.collect(ctx, look)
	state, err := s.stateOf(ctx, look, files)
	if err != nil {
		return snapshotTrees{}, err
	}
	if s.told(look) && len(look.report.changes) == 0 && len(files) == 0 && !state.needed() && !s.exact {
		return snapshotTrees{work: head, index: head}, nil
	}
	staged := !s.told(look) || slices.ContainsFunc(look.report.changes, func(c change) bool { return c.staged || c.conflicted })
	if staged || state.index || len(files) > 0 || s.exact {
		if err := copyFile(filepath.Join(s.admin, "index"), s.index); err != nil && !isAbsent(err) {
			return snapshotTrees{}, err
		}
	}
	if s.exact && s.dir != "" {
		if files, err = s.exactly(ctx, files, &state); err != nil {
			return snapshotTrees{}, err
		}
	}
	var unmerged []indexStage
	if !s.told(look) || state.conflicts {
		if unmerged, err = s.stages(ctx, "--unmerged"); err != nil {
			return snapshotTrees{}, err
		}
	}
	state.index = state.index || len(unmerged) > 0
	var extra []string
	if state.index {
		if err := s.makeWhole(ctx); err != nil {
			return snapshotTrees{}, err
		}
		extra = []string{s.index}
	}
	ids, err := s.store(ctx, files, extra)
	if err != nil {
		return snapshotTrees{}, err
	}
	var trees snapshotTrees
	if state.needed() {
		index := ""
		if state.index {
			index = ids[len(files)]
		}
		if trees.state, err = s.writeState(ctx, state, unmerged, index); err != nil {
			return snapshotTrees{}, err
		}
	}
	trees.index = head
	if staged {
		if trees.index, err = s.writeIndexTree(ctx, unmerged); err != nil {
			return snapshotTrees{}, err
		}
	}
	trees.work = trees.index
	if len(files) > 0 {
		if err := s.update(ctx, indexLines(files, ids)); err != nil {
			return snapshotTrees{}, err
		}
		trees.work, err = s.writeTree(ctx)
	}
	return trees, err
}

// told reports whether the look tells all that differs from the commit.
func (s *snapshotter) told(look lookedAt) bool {
	return !look.options.withoutSubmodules && s.dir != "" && s.head != ""
}

// writeIndexTree writes the index as a tree, without its conflicts, which a
// tree can't have.
func (s *snapshotter) writeIndexTree(ctx context.Context, unmerged []indexStage) (string, error) {
	var lines []byte
	for _, u := range unmerged {
		lines = append(lines, removalLine(u.path)...)
	}
	if err := s.update(ctx, lines); err != nil {
		return "", err
	}
	return s.writeTree(ctx)
}

// command is a git command on the copy of the index.
func (s *snapshotter) command(args ...string) command {
	admin, dir := s.admin, s.workDir()
	if admin == "" {
		admin = s.p.ID
	}
	return command{
		dir: dir, args: args, write: true, inherit: s.inherit,
		env: []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + s.index},
		config: append([]string{
			"core.fsmonitor=false", "core.splitIndex=false", "core.untrackedCache=false", "core.hooksPath=" + os.DevNull,
		}, s.config...),
	}
}

// workDir is where git runs.
func (s *snapshotter) workDir() string {
	switch {
	case s.dir != "":
		return s.dir
	case s.admin != "":
		return s.admin
	}
	return s.p.ID
}

// update changes entries of the copy of the index.
func (s *snapshotter) update(ctx context.Context, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	cmd := s.command("update-index", "-z", "--index-info")
	cmd.stdin = strings.NewReader(string(lines))
	_, err := s.r.git.run(ctx, cmd)
	return err
}

// writeTree writes the copy of the index as a tree. That its objects exist was
// seen to when they came into the index; a partial clone may lack some.
func (s *snapshotter) writeTree(ctx context.Context) (string, error) {
	return s.r.git.line(ctx, s.command("write-tree", "--missing-ok"))
}

// snapshotMessage is what the message of a snapshot says of its parts.
type snapshotMessage struct {
	// Head was checked out, "" for none. Index has the index as its tree,
	// State the rest, if any. Tip and Previous are kept besides. Work, the
	// snapshot itself, isn't in the message.
	Head, Index, State, Tip, Previous, Work string
	// Of says what working copy it was taken of, ofDeleted if empty.
	Of string
}

// What a snapshot is taken of, and what its message begins with.
const (
	ofDeleted      = "a deleted working copy"
	ofUndone       = "a working copy whose merge was undone"
	snapshotPrefix = "Snapshot of "
)

func (m snapshotMessage) of() string { return cmp.Or(m.Of, ofDeleted) }

// String returns the message.
func (m snapshotMessage) String() string {
	var b strings.Builder
	b.WriteString(snapshotPrefix + m.of() + "\n\n")
	for _, part := range m.parts() {
		if *part.id != "" {
			fmt.Fprintf(&b, "%s: %s\n", part.name, *part.id)
		}
	}
	return b.String()
}

type snapshotPart struct {
	name string
	id   *string
}

func (m *snapshotMessage) parts() []snapshotPart {
	return []snapshotPart{{"Head", &m.Head}, {"Index", &m.Index}, {"State", &m.State}, {"Tip", &m.Tip}, {"Previous", &m.Previous}}
}

// readSnapshot reads what a snapshot is made of.
func (r *Repository) readSnapshot(ctx context.Context, p workspace.Project, commit string) (snapshotMessage, error) {
	var m snapshotMessage
	out, err := r.git.line(ctx, r.openRefs(p.ID).command("cat-file", "commit", commit))
	if err != nil {
		return m, err
	}
	_, message, _ := strings.Cut(out, "\n\n")
	body, ok := strings.CutPrefix(message, snapshotPrefix)
	for line := range strings.Lines(body) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for _, part := range m.parts() {
			if part.name == name && isObjectID(id) {
				*part.id = id
			}
		}
	}
	if !ok || m.Index == "" {
		return m, errors.New("the commit " + commit + " is no snapshot")
	}
	return m, nil
}
