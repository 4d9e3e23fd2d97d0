package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// backupRefs is where the refs lie that keep what a merge moves away from:
// refs/threadtree/backup/<thread>/<number>/<what>.
const backupRefs = "refs/threadtree/backup/"

// backupPrefix is that of a thread's refs. Its id may be anything.
func backupPrefix(thread string) string {
	const most = 40
	sum := sha256.Sum256([]byte(thread))
	slug := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, thread)
	return backupRefs + strings.Trim(slug[:min(len(slug), most)]+"-"+hex.EncodeToString(sum[:4]), "-") + "/"
}

// backups are the refs of a thread that are there, by number.
type backups struct {
	prefix string
	refs   map[int][]backupRef
	last   int
}

type backupRef struct{ name, sha string }

func (m *merging) backups(ctx context.Context) (backups, error) {
	b := backups{prefix: backupPrefix(m.req.Workspace.ThreadID), refs: make(map[int][]backupRef)}
	all, err := m.refs.below(ctx, b.prefix)
	if err != nil {
		return b, failure("", "the refs that keep the tips could not be listed", "see what git says in the repository", err)
	}
	for name, sha := range all {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, b.prefix), "/")
		if n, err := strconv.Atoi(number); err == nil {
			b.refs[n] = append(b.refs[n], backupRef{name, sha})
			b.last = max(b.last, n)
		}
	}
	return b, nil
}

// keep makes refs of the next number for commits, by what they are, and lets
// those go that are more than are to be kept.
func (m *merging) keepBackups(ctx context.Context, commits map[string]string) ([]string, error) {
	b, err := m.backups(ctx)
	if err != nil {
		return nil, err
	}
	var made []string
	var lines strings.Builder
	for _, what := range []string{"workspace", "target", "original", "work", "aborted", "undone"} {
		if sha := commits[what]; sha != "" {
			ref := fmt.Sprintf("%s%06d/%s", b.prefix, b.last+1, what)
			made = append(made, ref)
			fmt.Fprintf(&lines, "create %s %s\n", ref, sha)
		}
	}
	for n, refs := range b.refs {
		if n <= b.last+1-m.g.o.Backups {
			for _, ref := range refs {
				fmt.Fprintf(&lines, "delete %s %s\n", ref.name, ref.sha)
			}
		}
	}
	err = m.updateRefs(ctx, lines.String())
	return made, failure("", "the tips could not be kept by refs of their own; nothing was changed", "see that the repository can be written to", err)
}

// dropBackups removes the refs of a merge that has changed nothing.
func (m *merging) dropBackups(ctx context.Context) {
	var lines strings.Builder
	for _, ref := range m.kept {
		fmt.Fprintf(&lines, "delete %s\n", ref)
	}
	m.kept = nil
	if lines.Len() > 0 {
		// One that stays is one backup more.
		_ = m.updateRefs(ctx, lines.String())
	}
}

// updateRefs changes refs of our own in one transaction: without a reflog, and
// without the hooks, which are for those of people.
func (m *merging) updateRefs(ctx context.Context, lines string) error {
	cmd := m.refs.command("update-ref", "--no-deref", "--stdin")
	cmd.write, cmd.inherit, cmd.stdin = true, m.inherit(), strings.NewReader(lines)
	cmd.config = []string{"core.logAllRefUpdates=false", "core.hooksPath=" + os.DevNull}
	cmd.timeout = m.g.o.HookTimeout
	_, err := m.r.git.run(ctx, cmd)
	return err
}

// keepWork keeps what isn't committed in the workspace as a snapshot, and
// reports whether there was anything.
func (m *merging) keepWork(ctx context.Context) (bool, error) {
	look, err := m.r.lookHard(ctx, m.at.gitDir, m.at.top, statusOptions{})
	if err != nil || len(look.report.changes) == 0 && len(look.hidden) == 0 {
		return false, err
	}
	head, _, err := m.checkedOut(ctx)
	if err != nil {
		return false, err
	}
	s := &snapshotter{r: m.r, p: m.req.Project, admin: m.at.gitDir, dir: m.at.top, head: head, of: ofUndone, inherit: m.inherit()}
	taken, err := s.take(ctx, look)
	if err != nil {
		return false, failure("", "what isn't committed in the workspace could not be kept; it was left as it is", "see what git says there", err)
	}
	return true, m.keepCommit(ctx, "work", taken.commit)
}

// keepCommit keeps one commit by a ref of its own, and tells of it.
func (m *merging) keepCommit(ctx context.Context, what, sha string) error {
	made, err := m.keepBackups(ctx, map[string]string{what: sha})
	if err == nil {
		m.tell(workspace.PhaseSnapshot, "What was there is kept as %s", strings.Join(made, ", "))
	}
	return err
}
