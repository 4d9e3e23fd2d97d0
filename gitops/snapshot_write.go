package gitops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
)

// newObjects is the place for the objects that are made here.
func (s *snapshotter) newObjects(ctx context.Context) (*quarantine, error) {
	in := composeInput{project: s.p, gitDir: s.admin, onto: s.head, inherit: s.inherit}
	if in.gitDir == "" {
		in.gitDir = s.p.ID
	}
	q := newQuarantine(in)
	if s.head == "" {
		config, err := s.r.config(ctx, s.p.ID)
		if err != nil {
			return nil, err
		}
		if format, _ := config.get("extensions.objectformat"); format == "sha256" {
			q.newHash = sha256.New
		}
	}
	return q, nil
}

// headTree returns the tree of the commit that is checked out, "" where there
// is none.
func (s *snapshotter) headTree(ctx context.Context) (string, error) {
	if s.head == "" {
		return "", nil
	}
	return s.r.openRefs(s.p.ID).tree(ctx, s.head)
}

// commits writes the commits of the snapshot and all else that was made, and
// returns the one that has all.
func (s *snapshotter) commits(ctx context.Context, trees snapshotTrees) (string, snapshotMessage, error) {
	m := snapshotMessage{Of: s.of, Head: s.head, Tip: s.tip, Previous: s.previous}
	m.Index = s.commit(trees.index, "Index of "+m.of()+"\n", s.head)
	if trees.state != "" {
		m.State = s.commit(trees.state, "State of "+m.of()+"\n")
	}
	if err := s.writeMade(ctx); err != nil {
		return "", m, err
	}
	// By git itself, which sees to it that all of it is there.
	commit, err := s.commitTree(ctx, trees.work, m.String(), m.Head, m.Index, m.State, m.Tip, m.Previous)
	return commit, m, err
}

// commit makes a commit as commitTree does.
func (s *snapshotter) commit(tree, message string, parents ...string) string {
	var all []string
	for _, parent := range parents {
		if parent != "" {
			all = append(all, parent)
		}
	}
	who := fmt.Sprintf("%s <%s> %d +0000", snapshotName, snapshotEmail, s.r.now().Unix())
	return s.made.put("commit", formatCommit(tree, all, signed{author: who, message: message}, who))
}

// Who makes the commits of a snapshot.
const (
	snapshotName  = "threadtree"
	snapshotEmail = "threadtree@localhost"
)

// commitTree writes a commit. It runs no hook and signs nothing.
func (s *snapshotter) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	cmd := s.command("commit-tree", tree)
	seen := make(map[string]bool)
	for _, parent := range parents {
		if parent != "" && !seen[parent] {
			cmd.args = append(cmd.args, "-p", parent)
			seen[parent] = true
		}
	}
	cmd.stdin = strings.NewReader(message)
	cmd.config = append(cmd.config, "i18n.commitEncoding=UTF-8")
	date := fmt.Sprintf("@%d +0000", s.r.now().Unix())
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		cmd.env = append(cmd.env, "GIT_"+who+"_NAME="+snapshotName, "GIT_"+who+"_EMAIL="+snapshotEmail, "GIT_"+who+"_DATE="+date)
	}
	return s.r.git.line(ctx, cmd)
}

// writeMade writes the objects that were made.
func (s *snapshotter) writeMade(ctx context.Context) error {
	objects := make([]object, 0, len(s.made.order))
	for _, id := range s.made.order {
		objects = append(objects, s.made.pending[id])
	}
	p, err := s.made.pack(objects)
	if err != nil {
		return err
	}
	cmd := s.command("unpack-objects", "-q")
	cmd.stdin = bytes.NewReader(p.data)
	_, err = s.r.git.run(ctx, cmd)
	return err
}
