package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// diffOptions make a difference the same whatever the configuration says.
var diffOptions = []string{
	"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames", "-l1000",
	"--indent-heuristic", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/",
	"--submodule=short", "--ignore-submodules=none", "-O" + os.DevNull,
}

// diffConfig is the part of that which has no options.
var diffConfig = []string{
	"core.quotePath=false", "core.fsmonitor=false", "core.splitIndex=false", "core.safecrlf=false",
	"diff.suppressBlankEmpty=false", "diff.autoRefreshIndex=true", "diff.context=3", "diff.interHunkContext=0",
}

// Diff compares a working copy as it is, what isn't committed and what is
// untracked included, with the commit at which it left its base: of a branch
// its fresher side, as ahead and behind are counted. Where the base is gone,
// that is the commit it began at, and Base says so. Ignored files don't count,
// nor do edits of files marked assume-unchanged or skip-worktree. An untracked
// repository within is one path with a slash at its end, and is not compared.
//
// Nothing is written: git works on a copy of the index in the directory for
// temporary files. The codes are not_ready, target_not_found, git_failed,
// permission_denied and timeout.
func (v *Reviewer) Diff(ctx context.Context, req workspace.DiffRequest) (workspace.Diff, error) {
	ctx, cancel := context.WithTimeout(ctx, v.o.Timeout)
	defer cancel()
	d, err := v.diff(ctx, req)
	return d, withOp("diff", failure("diff", "the workspace could not be compared with its base", "see what git says there, then try again", err))
}

func (v *Reviewer) diff(ctx context.Context, req workspace.DiffRequest) (workspace.Diff, error) {
	found, err := v.find(ctx, req.Project, req.Workspace)
	if err != nil {
		return workspace.Diff{}, err
	}
	c, err := v.r.newComparer(ctx, req.Project)
	if err != nil {
		return workspace.Diff{}, err
	}
	var at parting
	var report statusReport
	together, both := errgroup.WithContext(ctx)
	together.Go(func() (err error) {
		at, err = v.parted(both, c, req.Workspace, found.Head)
		return err
	})
	together.Go(func() (err error) {
		report, err = v.r.status(both, found.gitDir, found.Directory, "all")
		return err
	})
	if err := together.Wait(); err != nil {
		return workspace.Diff{}, err
	}
	look, err := newComparison(v.r, found, at.commit)
	if err != nil {
		return workspace.Diff{}, err
	}
	defer look.remove()
	if err := look.announce(ctx, report); err != nil {
		return workspace.Diff{}, err
	}
	d := workspace.Diff{Base: at.base, BaseCommit: at.commit}
	return d, look.at(ctx, &d, req)
}

// comparison is one look at how a working copy differs from a commit.
type comparison struct {
	r      *Repository
	of     reviewed
	commit string
	// index is a copy of the working copy's.
	index  string
	remove func()
	// repositories are the untracked ones within.
	repositories []string
}

func newComparison(r *Repository, of reviewed, commit string) (*comparison, error) {
	d := &comparison{r: r, of: of, commit: commit}
	var err error
	d.index, d.remove, err = scratchIndex(of.gitDir)
	return d, err
}

// scratchIndex copies an index out of the repository, or finds a place for one
// where there is none: then nothing is tracked.
func scratchIndex(gitDir string) (path string, remove func(), err error) {
	path, remove, err = copyIndex(gitDir)
	if !isAbsent(err) {
		return path, remove, err
	}
	dir, err := os.MkdirTemp("", "threadtree-index-")
	return filepath.Join(dir, "index"), func() { _ = os.RemoveAll(dir) }, err
}

func (d *comparison) command(args ...string) command {
	return command{
		dir: d.of.Directory, args: args, config: diffConfig,
		env: []string{"GIT_DIR=" + d.of.gitDir, "GIT_WORK_TREE=" + d.of.Directory, "GIT_INDEX_FILE=" + d.index},
	}
}

// announce has the copy of the index know of untracked files, and no more of
// conflicts: git then takes both from the disk.
func (d *comparison) announce(ctx context.Context, report statusReport) error {
	var gone, there strings.Builder
	for _, c := range report.changes {
		switch {
		case c.untracked && strings.HasSuffix(c.path, "/"):
			d.repositories = append(d.repositories, c.path)
			continue
		case !c.untracked && !c.conflicted:
			continue
		}
		if c.conflicted {
			fmt.Fprintf(&gone, "0 %s\t%s\x00", strings.Repeat("0", len(d.commit)), c.path)
		}
		if mode := modeOnDisk(filepath.Join(d.of.Directory, filepath.FromSlash(c.path))); mode != "" {
			// Any id will do. It is not looked at: nothing is known of the
			// file's times.
			fmt.Fprintf(&there, "%s %s\t%s\x00", mode, d.commit, c.path)
		}
	}
	if gone.Len()+there.Len() == 0 {
		return nil
	}
	cmd := d.command("update-index", "-z", "--index-info")
	cmd.write, cmd.stdin = true, strings.NewReader(gone.String()+there.String())
	_, err := d.r.git.run(ctx, cmd)
	return err
}

// modeOnDisk is the mode that git has for what is at a path, "" if that is
// neither a file nor a link.
func modeOnDisk(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case info.Mode()&os.ModeSymlink != 0:
		return "120000"
	case !info.Mode().IsRegular():
		return ""
	case info.Mode()&0o100 != 0:
		return "100755"
	}
	return "100644"
}

// at looks, at the counts and at the patch at once.
func (d *comparison) at(ctx context.Context, into *workspace.Diff, req workspace.DiffRequest) error {
	together, both := errgroup.WithContext(ctx)
	together.Go(func() error {
		out, err := d.r.git.run(both, d.against("--numstat", "-z"))
		if err != nil {
			return err
		}
		into.Files, err = parseNumstat(out)
		return err
	})
	if req.Patch {
		limit := req.MaxPatch
		if limit <= 0 {
			limit = workspace.DefaultMaxPatch
		}
		together.Go(func() (err error) {
			into.Patch, into.Truncated, err = d.patch(both, limit)
			return err
		})
	}
	if err := together.Wait(); err != nil {
		return err
	}
	for _, path := range d.repositories {
		into.Files = append(into.Files, workspace.FileChange{Path: path, Added: -1, Deleted: -1})
	}
	slices.SortStableFunc(into.Files, func(a, b workspace.FileChange) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (d *comparison) against(format ...string) command {
	return d.command(slices.Concat([]string{"diff"}, format, diffOptions, []string{d.commit, "--"})...)
}

// patch returns at most limit bytes of the patch. git is ended where it has
// more.
func (d *comparison) patch(ctx context.Context, limit int) (text string, truncated bool, err error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	out := &cappedOutput{limit: limit, full: enough}
	if err := d.r.git.stream(ctx, d.against("--patch"), out); err != nil && !out.over {
		return "", false, err
	}
	if out.over {
		return string(cutPatch(out.kept)), true, nil
	}
	return string(out.kept), false, nil
}

// cappedOutput keeps the first bytes that are written to it and says when
// there are more.
type cappedOutput struct {
	limit int
	kept  []byte
	over  bool
	full  func()
}

func (w *cappedOutput) Write(p []byte) (int, error) {
	room := w.limit - len(w.kept)
	w.kept = append(w.kept, p[:min(room, len(p))]...)
	if room < len(p) {
		w.over = true
		w.full()
	}
	return len(p), nil
}
