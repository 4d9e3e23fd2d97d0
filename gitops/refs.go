package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/threadtree/threadtree/workspace"
)

// maxSymref is how many symbolic refs are followed, as many as git follows.
const maxSymref = 5

// refs reads the refs of one repository, those that all its checkouts share.
// It is made for one operation and is safe for concurrent use.
type refs struct {
	git    *git
	common string
	// store is nil where go-git can't open the repository and git is asked.
	store *refStorer

	mu   sync.Mutex // guards repo: go-git's object storage isn't safe
	repo *gogit.Repository

	replaced   sync.Once
	isReplaced bool
}

type refName = plumbing.ReferenceName

// openRefs opens the refs of the repository with that common directory. This
// is the one place that decides between go-git and git.
func (r *Repository) openRefs(common string) *refs {
	x := &refs{git: r.git, common: common}
	store := newRefStorer(common)
	// Whatever go-git has against it (reftable, SHA-256, a configuration that
	// it can't read), git is the one who knows.
	if repo, err := gogit.Open(store, nil); err == nil {
		x.store, x.repo = store, repo
	}
	return x
}

// command is a git command on the repository as a whole, whatever the
// directory, and whether or not it is bare.
func (x *refs) command(args ...string) command {
	return command{dir: x.common, env: []string{"GIT_DIR=" + x.common}, args: args}
}

// lookup returns the object id that a full ref name stands for, "" if there is
// no such ref. Symbolic refs are followed; one that leads nowhere is no ref.
func (x *refs) lookup(ctx context.Context, name string) (string, error) {
	_, sha, err := x.resolve(ctx, name)
	return sha, err
}

// resolve is lookup that also returns the ref to which name leads: name itself
// unless it is symbolic.
func (x *refs) resolve(ctx context.Context, name string) (target, sha string, err error) {
	if x.store != nil {
		target, sha, err := x.follow(name)
		if err == nil || errors.Is(err, plumbing.ErrReferenceNotFound) {
			return target, sha, nil
		}
		// A name that go-git doesn't like or a file that it can't read.
	}
	out, err := x.git.run(ctx, x.command("for-each-ref", "--format=%(refname) %(objectname) %(symref)", "--", name))
	if err != nil {
		return "", "", failure("", "the ref "+name+" could not be read", "", err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			if len(fields) > 2 {
				return fields[2], fields[1], nil
			}
			return name, fields[1], nil
		}
	}
	return name, "", nil
}

func (x *refs) follow(name string) (target, sha string, err error) {
	for range maxSymref {
		ref, err := x.store.Reference(refName(name))
		if err != nil {
			return name, "", err
		}
		if ref.Type() == plumbing.HashReference {
			return name, ref.Hash().String(), nil
		}
		name = ref.Target().String()
	}
	return name, "", plumbing.ErrReferenceNotFound
}

// checkedOut returns what a HEAD stands for, as git has it: the object id, ""
// where there is no commit yet, and the short name of the branch, "" where it
// is none. A branch that stands for another is that other one.
func (x *refs) checkedOut(ctx context.Context, h headFile) (sha, branch string, err error) {
	if h.ref == "" {
		return h.sha, "", nil
	}
	target, sha, err := x.resolve(ctx, h.ref)
	if err != nil {
		return "", h.branch(), err
	}
	return sha, headFile{ref: target}.branch(), nil
}

// symbolic returns the full name of the ref that a symbolic ref stands for, ""
// if there is no such ref or it is not symbolic.
func (x *refs) symbolic(ctx context.Context, name string) (string, error) {
	if x.store != nil {
		ref, err := x.store.Reference(refName(name))
		switch {
		case errors.Is(err, plumbing.ErrReferenceNotFound):
			return "", nil
		case err == nil && ref.Type() == plumbing.SymbolicReference:
			return ref.Target().String(), nil
		case err == nil:
			return "", nil
		}
	}
	target, err := x.git.line(ctx, x.command("symbolic-ref", "-q", name))
	if exitCode(err) == 1 {
		return "", nil
	}
	return target, failure("", "the ref "+name+" could not be read", "", err)
}

// branchNames returns the short names of all local branches, sorted. A branch
// whose ref is broken is among them: its name is not free.
func (x *refs) branchNames(ctx context.Context) ([]string, error) {
	if x.store != nil {
		return x.store.branchNames()
	}
	out, err := x.git.run(ctx, x.command("for-each-ref", "--format=%(refname)", "refs/heads/"))
	if err != nil {
		return nil, failure("", "the branches could not be listed", "", err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "refs/heads/"))
	}
	slices.Sort(names)
	return names, nil
}

// below returns the object ids of all refs below a root, by full name.
func (x *refs) below(ctx context.Context, root string) (map[string]string, error) {
	all := make(map[string]string)
	if x.store != nil {
		names, err := x.store.refNames(root)
		for _, name := range names {
			if sha, err := x.lookup(ctx, name); err != nil {
				return nil, err
			} else if sha != "" {
				all[name] = sha
			}
		}
		return all, err
	}
	out, err := x.git.run(ctx, x.command("for-each-ref", "--format=%(refname) %(objectname)", "--", root))
	for line := range strings.Lines(string(out)) {
		if name, sha, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[name] = sha
		}
	}
	return all, err
}

// committed returns when a commit was made.
func (x *refs) committed(ctx context.Context, sha string) (time.Time, error) {
	if x.repo != nil {
		x.mu.Lock()
		commit, err := x.repo.CommitObject(plumbing.NewHash(sha))
		x.mu.Unlock()
		if err == nil {
			return commit.Committer.When, nil
		}
	}
	out, err := x.git.line(ctx, x.command("log", "-1", "--no-show-signature", "--format=%ct", sha, "--"))
	if err != nil {
		return time.Time{}, err
	}
	var seconds int64
	if _, err := fmt.Sscan(out, &seconds); err != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, 0), nil
}

// tree returns the id of a commit's tree. That of a commit in a pack is git's to
// tell: go-git reads the index of the whole pack for it.
func (x *refs) tree(ctx context.Context, sha string) (string, error) {
	if x.store != nil && isObjectID(sha) && !x.rewritten() {
		o, err := readLoose(filepath.Join(x.common, "objects", sha[:2], sha[2:]))
		if tree := parseCommit(sha, o.data).tree; err == nil && o.kind == "commit" && isObjectID(tree) {
			return tree, nil
		}
	}
	return x.git.line(ctx, x.command("rev-parse", "--verify", "-q", sha+"^{tree}"))
}

// maxLinear is how many commits are followed to see whether a commit merely
// lies ahead of another.
const maxLinear = 20

// linear returns how many commits head lies ahead of base, where that is seen
// by following a few commits of one parent each. ok is false where git has to
// count.
func (x *refs) linear(base, head string) (ahead int, ok bool) {
	if x.repo == nil || x.rewritten() {
		return 0, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for ; ahead <= maxLinear; ahead++ {
		if head == base {
			return ahead, true
		}
		commit, err := x.repo.CommitObject(plumbing.NewHash(head))
		if err != nil || len(commit.ParentHashes) != 1 {
			return 0, false
		}
		head = commit.ParentHashes[0].String()
	}
	return 0, false
}

// rewrittenTimeout bounds the question to git.
const rewrittenTimeout = 10 * time.Second

// rewritten reports whether history is another than the commits say, because
// some are replaced.
func (x *refs) rewritten() bool {
	x.replaced.Do(func() {
		for _, path := range []string{"refs/replace", "info/grafts"} {
			if _, err := os.Lstat(filepath.Join(x.common, path)); err == nil {
				x.isReplaced = true
			}
		}
		if x.store == nil {
			ctx, cancel := context.WithTimeout(context.Background(), rewrittenTimeout)
			defer cancel()
			out, err := x.git.run(ctx, x.command("for-each-ref", "--count=1", "refs/replace/"))
			x.isReplaced = x.isReplaced || err != nil || len(out) > 0
			return
		}
		packed, err := x.store.packedRefs()
		for name := range packed {
			x.isReplaced = x.isReplaced || strings.HasPrefix(name, "refs/replace/")
		}
		x.isReplaced = x.isReplaced || err != nil
	})
	return x.isReplaced
}

// tip returns the object id of a ref by its full name, such as refs/heads/x,
// and "" if there is none.
func (r *Repository) tip(ctx context.Context, p workspace.Project, ref string) (string, error) {
	return r.openRefs(p.ID).lookup(ctx, ref)
}

// branchNames returns the short names of all local branches, sorted.
func (r *Repository) branchNames(ctx context.Context, p workspace.Project) ([]string, error) {
	return r.openRefs(p.ID).branchNames(ctx)
}

// remotes returns the names of the project's remotes in the order of its
// configuration.
func (r *Repository) remotes(ctx context.Context, p workspace.Project) ([]string, error) {
	c, err := r.config(ctx, p.ID)
	if err != nil {
		return nil, failure("", "the remotes could not be read", "", err)
	}
	return c.remotes, nil
}

// walkRefs collects the full names of the loose refs below a root such as
// refs/heads/.
func walkRefs(common, root string, names map[string]bool) error {
	return filepath.WalkDir(filepath.Join(common, filepath.FromSlash(root)), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while we look
		}
		if err != nil {
			return err
		}
		if entry.IsDir() || strings.HasSuffix(path, ".lock") {
			return nil
		}
		rel, err := filepath.Rel(common, path)
		if err == nil {
			names[filepath.ToSlash(rel)] = true
		}
		return err
	})
}

// sameFile reports whether a file is still the one that was read.
func sameFile(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
