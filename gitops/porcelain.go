package gitops

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// change is one path of a status.
type change struct {
	// path is relative to the top of the working copy. A directory that is
	// untracked as a whole ends in a slash.
	path string
	// from is where a renamed or copied path came from.
	from string
	// staged and modified tell the index and the working tree from what each
	// is compared with; a conflicted or untracked path is neither.
	staged, modified, conflicted, untracked, ignored bool
	// submodule holds the four letters of a submodule's state, "" for others.
	submodule string
}

// statusReport is the output of "git status --porcelain=v2 --branch -z". The
// branch's name isn't taken from it: git writes "(detached)" there, which may
// be a branch's name.
type statusReport struct {
	// oid is what is checked out, "" where there is no commit yet.
	oid     string
	changes []change
}

// counts of changes by kind. A path that is both staged and modified counts
// for both, and once for changed, as each tracked path does.
type counts struct {
	changed, staged, modified, conflicted, untracked int
}

// dirty reports whether there is any.
func (n counts) dirty() bool { return n.changed+n.untracked > 0 }

func (r statusReport) counts() (n counts) {
	for _, c := range r.changes {
		if c.staged || c.modified || c.conflicted {
			n.changed++
		}
		for _, kind := range []struct {
			is bool
			n  *int
		}{{c.staged, &n.staged}, {c.modified, &n.modified}, {c.conflicted, &n.conflicted}, {c.untracked, &n.untracked}} {
			if kind.is {
				*kind.n++
			}
		}
	}
	return n
}

// has reports whether the status has a line about a path.
func (r statusReport) has(path string) bool {
	for _, c := range r.changes {
		if c.path == path {
			return true
		}
	}
	return false
}

// parseStatus reads the output of "git status --porcelain=v2 --branch -z".
func parseStatus(out []byte) (statusReport, error) {
	var r statusReport
	for len(out) > 0 {
		record, rest, ok := bytes.Cut(out, []byte{0})
		if !ok {
			return r, fmt.Errorf("the status ends within a record: %q", clip(record))
		}
		out = rest
		if header, ok := bytes.CutPrefix(record, []byte("# ")); ok {
			r.header(string(header))
			continue
		}
		c, err := parseChange(record)
		if err != nil {
			return r, err
		}
		if len(record) > 0 && record[0] == '2' {
			from, rest, ok := bytes.Cut(out, []byte{0})
			if !ok {
				return r, fmt.Errorf("the status ends after a rename: %q", clip(record))
			}
			c.from, out = string(from), rest
		}
		r.changes = append(r.changes, c)
	}
	return r, nil
}

func (r *statusReport) header(text string) {
	if oid, ok := strings.CutPrefix(text, "branch.oid "); ok && isObjectID(oid) {
		r.oid = oid
	}
}

// statusFields is how many fields stand before the path, by kind of line.
var statusFields = map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1, '!': 1}

func parseChange(record []byte) (change, error) {
	bad := fmt.Errorf("a line of the status can't be read: %q", clip(record))
	if len(record) < 3 || record[1] != ' ' {
		return change{}, bad
	}
	kind := record[0]
	before, known := statusFields[kind]
	if !known {
		return change{}, bad
	}
	fields := bytes.SplitN(record, []byte(" "), before+1)
	if len(fields) != before+1 || len(fields[before]) == 0 {
		return change{}, bad
	}
	c := change{path: string(fields[before])}
	switch kind {
	case '?':
		c.untracked = true
		return c, nil
	case '!':
		c.ignored = true
		return c, nil
	case 'u':
		c.conflicted = true
	}
	xy, sub := fields[1], fields[2]
	if len(xy) != 2 || len(sub) != 4 {
		return change{}, bad
	}
	if kind != 'u' {
		c.staged, c.modified = xy[0] != '.', xy[1] != '.'
	}
	if sub[0] == 'S' {
		c.submodule = string(sub)
	}
	return c, nil
}

func clip(b []byte) []byte {
	const most = 80
	if len(b) > most {
		return b[:most]
	}
	return b
}

// status runs git status in the working copy dir that belongs to gitDir.
// untracked is normal or all. Submodules count with what is changed or
// untracked in them, whatever the configuration says, and renames as the two
// paths that they are. Nothing is written.
func (r *Repository) status(ctx context.Context, gitDir, dir, untracked string) (statusReport, error) {
	return r.statusWith(ctx, gitDir, dir, untracked, statusOptions{})
}

// statusOptions are rare wishes.
type statusOptions struct {
	// config is set for this status alone.
	config []string
	// withoutSubmodules leaves submodules out.
	withoutSubmodules bool
}

func (r *Repository) statusWith(ctx context.Context, gitDir, dir, untracked string, o statusOptions) (statusReport, error) {
	submodules := "none"
	if o.withoutSubmodules {
		submodules = "all"
	}
	out, err := r.git.run(ctx, command{
		dir: dir,
		// Named outright: where the directory has lost its .git, git would
		// look at the repository around it.
		env:    []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + dir},
		config: append([]string{"core.fsmonitor=false", "status.showUntrackedFiles=" + untracked}, o.config...),
		args: []string{
			"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=" + untracked,
			"--ignored=no", "--ignore-submodules=" + submodules, "--no-renames", "--no-ahead-behind",
		},
	})
	if err != nil {
		return statusReport{}, err
	}
	return parseStatus(out)
}
