package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// lab is a directory with repositories and all else that is measured.
type lab struct {
	root   string
	rounds int
	// How much there is of everything.
	files, worktrees, refs, together, rows int
	// lists are the worktrees and the files of each that are listed.
	lists [2]struct{ worktrees, files int }
	env   []string
	made  int
}

func newLab(o options, dir string) (*lab, error) {
	root, err := os.MkdirTemp(dir, "threadtree-bench-")
	if err != nil {
		return nil, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return nil, err
	}
	l := &lab{root: root, rounds: o.Rounds, files: 20_000, worktrees: 200, refs: 2000, together: 32, rows: 100_000}
	l.lists[0].worktrees, l.lists[0].files = 50, 20
	l.lists[1].worktrees, l.lists[1].files = 20, l.files
	if o.Quick {
		l.rounds, l.files, l.worktrees, l.refs, l.together, l.rows = 1, 60, 3, 20, 3, 500
		l.lists[0].worktrees, l.lists[1].worktrees, l.lists[1].files = 4, 2, l.files
	}
	// git as it is without anybody's configuration.
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "XDG_CONFIG_HOME=" + filepath.Join(root, "xdg"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
	return l, nil
}

func (l *lab) remove(stderr io.Writer) {
	if err := os.RemoveAll(l.root); err != nil {
		fmt.Fprintln(stderr, "bench: left:", err)
	}
}

// git runs git as a person would.
func (l *lab) git(dir string, args ...string) error {
	_, err := l.output(dir, args...)
	return err
}

func (l *lab) output(dir string, args ...string) (string, error) {
	return l.feed(nil, dir, args...)
}

// feed is output with something on standard input.
func (l *lab) feed(stdin io.Reader, dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, l.env, stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// path returns a path of the lab that is not in use.
func (l *lab) path(name string) string {
	l.made++
	return filepath.Join(l.root, fmt.Sprintf("%s-%d", name, l.made))
}

// repo is a repository, and threadtree over it.
type repo struct {
	l    *lab
	dir  string
	home string
	*workspace.Manager
	repository *gitops.Repository
	store      *sqlite.Store
	threads    int
}

// repo makes a repository of so many files: 20 lie in a few directories, as
// many as 20,000 in 400.
func (l *lab) repo(ctx context.Context, files int) (*repo, error) {
	r := &repo{l: l, dir: l.path("repo"), home: l.path("home")}
	if err := l.git(l.root, "init", "-q", "-b", "main", r.dir); err != nil {
		return nil, err
	}
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 5\nfiles\n")
	for i := range files {
		text := fmt.Sprintf("package p%d\n\n// File number %d of many.\n", i, i) + strings.Repeat(fmt.Sprintf("// line of %d\n", i), 200*min(files, 1000)/1000)
		fmt.Fprintf(&stream, "M 100644 inline d%02d/e%02d/f%05d.go\ndata %d\n%s\n", i%20*min(files, 400)/400, i/50%20, i, len(text), text)
	}
	if _, err := l.feed(&stream, r.dir, "fast-import", "--quiet"); err != nil {
		return nil, err
	}
	if err := l.git(r.dir, "reset", "-q", "--hard"); err != nil {
		return nil, err
	}
	return r, r.open(ctx)
}

// open starts threadtree over the repository, as a program does that has just
// begun.
func (r *repo) open(ctx context.Context) error {
	var err error
	if err := r.close(); err != nil {
		return err
	}
	if r.repository, err = gitops.New(gitops.Options{Home: r.home, Env: r.l.env}); err != nil {
		return err
	}
	if r.store, err = sqlite.Open(ctx, filepath.Join(r.home, "threadtree.db")); err != nil {
		return err
	}
	return r.manage(gitops.NewProvider(r.repository, gitops.ProviderOptions{}))
}

// manage has a provider make the workspaces.
func (r *repo) manage(provider *gitops.Provider) error {
	locks, err := gitops.NewAttemptLocks(filepath.Join(r.home, "locks"), "")
	if err != nil {
		return err
	}
	r.Manager, err = workspace.NewManager(workspace.Config{
		Store: r.store, Repository: r.repository, Locker: locks, Provider: provider,
		// What is deleted can be let go at once.
		KeepDirectory: time.Nanosecond, KeepSnapshot: time.Nanosecond,
	})
	return err
}

func (r *repo) close() error {
	if r.store == nil {
		return nil
	}
	err := r.store.Close()
	r.store = nil
	return err
}

// remove closes and removes the repository and its worktrees.
func (r *repo) remove() error {
	return errors.Join(r.close(), os.RemoveAll(r.dir), os.RemoveAll(r.home))
}

// create makes the workspace of a new thread.
func (r *repo) create(ctx context.Context, base string) (workspace.Workspace, error) {
	r.threads++
	return r.createFor(ctx, r.threads, base)
}

func (r *repo) createFor(ctx context.Context, thread int, base string) (workspace.Workspace, error) {
	id := fmt.Sprintf("%d", thread)
	return r.Create(ctx, workspace.CreateOptions{Project: r.dir, ThreadID: id, Title: "thread " + id, Base: base, NoFetch: true})
}

// drop deletes a workspace for good.
func (r *repo) drop(ctx context.Context, w workspace.Workspace) error {
	if _, err := r.Delete(ctx, workspace.DeleteOptions{ThreadID: w.ThreadID, Force: true}); err != nil {
		return err
	}
	return r.collect(ctx)
}

// collect lets go of all that was deleted.
func (r *repo) collect(ctx context.Context) error {
	c := workspace.NewCollector(r.Manager)
	plan, err := c.Plan(ctx, workspace.CollectOptions{Project: r.dir})
	if err != nil {
		return err
	}
	done, err := c.Apply(ctx, plan)
	for _, item := range done {
		err = errors.Join(err, item.Err)
	}
	return err
}

// worktree has git make a worktree, as git alone does.
func (r *repo) worktree(base string) (dir string, err error) {
	r.threads++
	dir = filepath.Join(r.home, "plain", fmt.Sprint(r.threads))
	return dir, r.l.git(r.dir, "worktree", "add", "-q", "--no-track", "-b", fmt.Sprintf("plain-%d", r.threads), dir, base)
}

// commit writes a file and commits it.
func (r *repo) commit(dir, file, text string) error {
	if err := r.write(dir, file, text); err != nil {
		return err
	}
	if err := r.l.git(dir, "add", file); err != nil {
		return err
	}
	return r.l.git(dir, "commit", "-q", "-m", "Change "+file)
}

func (r *repo) write(dir, file, text string) error {
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
