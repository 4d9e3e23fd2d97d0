package gitops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Branches returns branches as [workspace.Reviewing] says: local ones by their
// short name, and those of remotes as remote/name. A branch that a remote has
// at the same commit under the same name as a local one that is among the
// results is left out. One whose ref is broken comes last or not at all.
// Nothing is written. The codes are git_failed, permission_denied and timeout.
func (v *Reviewer) Branches(ctx context.Context, p workspace.Project, q workspace.BranchQuery) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, v.o.Timeout)
	defer cancel()
	names, err := v.branches(ctx, p, q)
	return names, failure("branches", "the branches could not be listed", "see what git says in that repository", err)
}

func (v *Reviewer) branches(ctx context.Context, p workspace.Project, q workspace.BranchQuery) ([]string, error) {
	x := v.r.openRefs(p.ID)
	list, err := x.branches(ctx, q)
	if err != nil {
		return nil, err
	}
	config, err := v.r.config(ctx, p.ID)
	if err != nil {
		return nil, unreadable(p.ID, err)
	}
	list = distinct(list, config.remotes)
	slices.SortFunc(list, func(a, b branchRef) int {
		return cmp.Or(cmp.Compare(b.committed, a.committed), cmp.Compare(a.ref, b.ref))
	})
	var names []string
	seen := make(map[string]bool, len(list))
	for _, b := range list {
		if q.Limit > 0 && len(names) == q.Limit {
			break
		}
		// A local branch may be called origin/x, too.
		if name := shownBranch(b.ref); !seen[name] {
			names, seen[name] = append(names, name), true
		}
	}
	return names, nil
}

const (
	localRefs  = "refs/heads/"
	remoteRefs = "refs/remotes/"
)

// shownBranch is the name of a branch as people type it.
func shownBranch(ref string) string {
	if name, ok := strings.CutPrefix(ref, localRefs); ok {
		return name
	}
	return strings.TrimPrefix(ref, remoteRefs)
}

// branchRef is a branch, or what is known of a remote's.
type branchRef struct {
	// ref is the full name of the ref.
	ref string
	// target is the ref that it stands for: itself unless it is symbolic.
	target, sha string
	// committed is when its commit was made, in seconds, 0 where it is none.
	committed int64
}

// branches returns the branches whose name has the text.
func (x *refs) branches(ctx context.Context, q workspace.BranchQuery) ([]branchRef, error) {
	roots := []string{localRefs, remoteRefs}
	if q.Local {
		roots = roots[:1]
	}
	if q.Text == "" {
		list, err := x.allBranches(ctx, roots)
		if exitCode(err) <= 0 {
			return list, err
		}
		// One whose commit is lost makes git give up.
	}
	names, err := x.names(ctx, roots)
	if err != nil {
		return nil, err
	}
	text := strings.ToLower(q.Text)
	list, err := x.readBranches(ctx, slices.DeleteFunc(names, func(name string) bool {
		return !strings.Contains(strings.ToLower(shownBranch(name)), text)
	}))
	if err != nil {
		return nil, err
	}
	return list, x.date(ctx, list)
}

// allBranches has git tell all about all of them: faster where none is left
// out.
func (x *refs) allBranches(ctx context.Context, roots []string) ([]branchRef, error) {
	const format = "--format=%(refname) %(objectname) %(committerdate:unix) %(symref)"
	out, err := x.git.run(ctx, x.command(append([]string{"for-each-ref", format}, roots...)...))
	if err != nil {
		return nil, err
	}
	var list []branchRef
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) != 4 {
			return nil, fmt.Errorf("a line of the branches can't be read: %q", clip([]byte(line)))
		}
		b := branchRef{ref: fields[0], sha: fields[1], target: cmp.Or(fields[3], fields[0])}
		b.committed, _ = strconv.ParseInt(fields[2], 10, 64) // none for what is no commit
		list = append(list, b)
	}
	return list, nil
}

// names returns the full names of the refs below the roots.
func (x *refs) names(ctx context.Context, roots []string) ([]string, error) {
	if x.store != nil {
		return x.store.refNames(roots...)
	}
	out, err := x.git.run(ctx, x.command(append([]string{"for-each-ref", "--format=%(refname)"}, roots...)...))
	return strings.Fields(string(out)), err
}

// readBranches finds out what the refs stand for. Those that stand for nothing
// are left out.
func (x *refs) readBranches(ctx context.Context, names []string) ([]branchRef, error) {
	list := make([]branchRef, len(names))
	failures := make([]error, len(names))
	inParallel(len(names), func(i int) {
		if failures[i] = ctx.Err(); failures[i] == nil {
			list[i].ref = names[i]
			list[i].target, list[i].sha, failures[i] = x.resolve(ctx, names[i])
		}
	})
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(b branchRef) bool { return strings.Trim(b.sha, "0") == "" }), nil
}

// distinct leaves out the pointers to remotes' HEADs and the branches of
// remotes that are the local ones of that name.
func distinct(list []branchRef, remotes []string) []branchRef {
	local := make(map[string]string)
	for _, b := range list {
		if name, ok := strings.CutPrefix(b.ref, localRefs); ok {
			local[name] = b.sha
		}
	}
	return slices.DeleteFunc(list, func(b branchRef) bool {
		tracked, ok := strings.CutPrefix(b.ref, remoteRefs)
		if !ok {
			return false
		}
		name := withoutRemote(tracked, remotes)
		if name == "HEAD" || b.target != b.ref && strings.HasSuffix(tracked, "/HEAD") {
			return true
		}
		return local[name] == b.sha
	})
}

// withoutRemote takes the remote's name off a tracked branch: that of the
// remote with the longest one that fits, or else the first part.
func withoutRemote(tracked string, remotes []string) string {
	_, name, _ := strings.Cut(tracked, "/")
	for _, remote := range remotes {
		if rest, ok := strings.CutPrefix(tracked, remote+"/"); ok && len(rest) < len(name) {
			name = rest
		}
	}
	return name
}

// date finds out when the branches' commits were made, all by one process.
func (x *refs) date(ctx context.Context, list []branchRef) error {
	if len(list) < 2 {
		return nil
	}
	var input strings.Builder
	for _, b := range list {
		input.WriteString(b.sha + "\n")
	}
	cmd := x.command("rev-list", "--no-walk=unsorted", "--ignore-missing", "--timestamp", "--stdin")
	cmd.stdin = strings.NewReader(input.String())
	out, err := x.git.run(ctx, cmd)
	if err != nil {
		return err
	}
	seconds := make(map[string]int64, len(list))
	for line := range strings.Lines(string(out)) {
		at, sha, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(at, 10, 64); err == nil {
			seconds[sha] = n
		}
	}
	for i := range list {
		list[i].committed = seconds[list[i].sha]
	}
	return nil
}
