package gitops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Push publishes the branch that is checked out in the workspace, as
// [workspace.Reviewing] says: to its own name on the branch's push remote, on
// remote.pushDefault, on the remote where it follows a branch of its name, on
// origin, or on the only remote, in that order. Nothing else is sent, tags
// included, and the branch is set to follow what was pushed.
//
// Nothing is forced, except that ForceWithLease replaces exactly the commit
// that the tracking ref has. Where there is no tracking ref, nothing of the
// remote's is replaced even then. Pushing again what is there already is no
// error.
//
// The pre-push hook runs as git would run it, within the time limit, unless it
// is one that the repository brings. A detached HEAD has the code
// nothing_to_merge where its commits are in the base, else not_ready. A push
// that was ended by ctx or the time limit may have reached the remote.
func (v *Reviewer) Push(ctx context.Context, req workspace.PushRequest) (workspace.Pushed, error) {
	if req.Progress == nil {
		req.Progress = func(workspace.Event) {}
	}
	ctx, cancel := context.WithTimeout(ctx, v.o.PushTimeout)
	defer cancel()
	p, err := v.push(ctx, req)
	return p, withOp("push", failure("push", "the branch could not be published", "see what git says, then try again", err))
}

func (v *Reviewer) push(ctx context.Context, req workspace.PushRequest) (workspace.Pushed, error) {
	pushing, err := v.preparePush(ctx, req)
	if err != nil {
		return workspace.Pushed{}, err
	}
	req.Progress(workspace.Event{
		Phase:   workspace.PhasePush,
		Message: fmt.Sprintf("Pushing %s to %s", pushing.branch, pushing.remote),
	})
	pushing.lookForUncommitted(ctx)
	pushing.lookForUnpushed(ctx)
	if err := pushing.send(ctx); err != nil {
		return workspace.Pushed{}, err
	}
	if err := pushing.follow(ctx); err != nil {
		pushing.warn("the branch is published, but was not set to follow %s/%s: %s", pushing.remote, pushing.branch, because(err))
	}
	return workspace.Pushed{Remote: pushing.remote, Branch: pushing.branch, URL: pushing.url(ctx), UpToDate: pushing.upToDate, Warnings: pushing.warnings}, nil
}

func (p *pushing) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.warnings = append(p.warnings, text)
	p.req.Progress(workspace.Event{Phase: workspace.PhasePush, Message: text, Warning: true})
}

// lookForUncommitted warns of work that isn't in what is pushed.
func (p *pushing) lookForUncommitted(ctx context.Context) {
	report, err := p.v.r.status(ctx, p.at.gitDir, p.at.Directory, "all")
	switch n := len(report.changes); {
	case err != nil:
		p.warn("whether all work is committed could not be found out: %s", because(err))
	case n == 1:
		p.warn("1 file isn't committed, and not pushed: %s", report.changes[0].path)
	case n > 1:
		p.warn("%d files aren't committed, and not pushed", n)
	}
}

// lookForUnpushed warns of submodules' commits that nobody else can fetch.
func (p *pushing) lookForUnpushed(ctx context.Context) {
	if p.parted.commit == "" {
		return
	}
	changes, err := p.v.r.treeChanges(ctx, p.v.r.openRefs(p.req.Project.ID), p.parted.commit, p.at.Head)
	if err != nil {
		p.warn("whether all commits of submodules are pushed could not be found out: %s", because(err))
	}
	for _, line := range p.v.r.unpushedSubmodules(ctx, p.at.Directory, changes) {
		p.warn("%s", line)
	}
}

// pushing is one push.
type pushing struct {
	v        *Reviewer
	req      workspace.PushRequest
	at       reviewed
	set      *settings
	config   *repoConfig
	comparer *comparer
	branch   string
	remote   string
	// address is the remote's, for pushing. It may hold a secret.
	address string
	// parted is zero where nothing is known of a base.
	parted parting
	// lease is the commit that may be replaced, "" for none.
	lease    string
	upToDate bool
	warnings []string
}

func (v *Reviewer) preparePush(ctx context.Context, req workspace.PushRequest) (*pushing, error) {
	p := &pushing{v: v, req: req}
	var err error
	if p.at, err = v.find(ctx, req.Project, req.Workspace); err != nil {
		return nil, err
	}
	if op := operation(p.at.gitDir); op != "" {
		return nil, p.refuse(workspace.ErrOperationInProgress, "finish or abort it first", "a %s is under way in %s", op, p.at.Directory)
	}
	if p.set, err = v.r.settings(ctx, req.Project); err != nil {
		return nil, err
	}
	// Whoever set it, for this repository or for all of a user's.
	p.config, err = v.r.git.listConfig(ctx, command{
		dir: p.at.Directory, env: []string{"GIT_DIR=" + p.at.gitDir}, args: []string{"config", "--includes", "-z", "--list"},
	})
	if err != nil {
		return nil, err
	}
	if p.comparer, err = v.r.newComparer(ctx, req.Project); err != nil {
		return nil, err
	}
	p.branch = p.at.Branch
	for _, step := range []func(context.Context) error{p.bringsSomething, p.chooseRemote, p.findAddress, p.takeLease} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pushing) refuse(code workspace.Code, hint, format string, args ...any) error {
	return &workspace.Error{
		Code: code, ThreadID: p.req.Workspace.ThreadID, Hint: hint,
		Message: fmt.Sprintf(format, args...) + "; nothing was pushed",
	}
}

// bringsSomething refuses a push without a branch, or without a commit that
// the base hasn't.
func (p *pushing) bringsSomething(ctx context.Context) error {
	if p.at.Head == "" {
		return p.refuse(workspace.ErrNothingToMerge, "commit something first", "there is no commit yet in %s", p.at.Directory)
	}
	var err error
	p.parted, err = p.v.parted(ctx, p.comparer, p.req.Workspace, p.at.Head)
	if err != nil && !errors.Is(err, workspace.ErrTargetNotFound) {
		return err
	}
	// A base that isn't known leaves it to the remote whether that is new.
	nothing := err == nil && p.parted.commit == p.at.Head
	if nothing && p.branch != "" && p.branch == p.parted.branch {
		// The base itself is pushed: what counts is what the remotes have.
		nothing, err = p.published(ctx)
		if err != nil {
			return err
		}
	}
	switch {
	case nothing:
		return p.refuse(workspace.ErrNothingToMerge, "commit something first", "there is no commit in %s that %s hasn't", p.at.Directory, cmp.Or(p.parted.branch, "its base"))
	case p.branch == "":
		return p.refuse(workspace.ErrNotReady, "make a branch of it first: git -C "+quoted(p.at.Directory)+" switch -c NAME",
			"%s is on no branch (detached HEAD), and only a branch can be pushed", p.at.Directory)
	}
	return nil
}

// published reports whether all that is known of the remotes' sides of the
// branch has the commit.
func (p *pushing) published(ctx context.Context) (bool, error) {
	known := p.comparer.config.tracking(p.branch)
	for _, ref := range known {
		sha, err := p.comparer.refs.lookup(ctx, ref)
		if err != nil || sha == "" {
			return false, err
		}
		if has, err := p.comparer.ancestor(ctx, p.at.Head, sha); err != nil || !has {
			return false, err
		}
	}
	return len(known) > 0, nil
}

// send pushes the branch, and says what stands in the way where that fails.
func (p *pushing) send(ctx context.Context) error {
	refspec := localRefs + p.branch + ":" + localRefs + p.branch
	args := []string{"push", "--porcelain", "--progress", "--no-follow-tags", "--recurse-submodules=" + p.submodules()}
	if p.lease != "" {
		args = append(args, "--force-with-lease="+localRefs+p.branch+":"+p.lease)
	}
	cmd := p.command(append(args, "--", p.remote, refspec)...)
	cmd.write, cmd.progress = true, &remoteWords{tell: p.req.Progress}
	out, err := p.v.r.git.run(ctx, cmd)
	if err == nil {
		p.upToDate = strings.HasPrefix(string(out), "=\t") || strings.Contains(string(out), "\n=\t")
		return nil
	}
	return p.explain(ctx, out, err)
}

func (p *pushing) command(args ...string) command {
	config := p.set.hooksOff(p.v.o.RepositoryHooks)
	if on, _ := p.config.truth("remote." + p.remote + ".mirror"); on {
		// A mirror's push forces, and takes no branch.
		config = append(config, "remote."+p.remote+".mirror=false")
	}
	if _, own := p.config.get("remote." + p.remote + ".pushurl"); !own && filepath.IsAbs(p.address) {
		// A workspace lies elsewhere than the checkout.
		config = append(config, "remote."+p.remote+".pushurl="+p.address)
	}
	return command{dir: p.at.Directory, args: args, config: config, env: p.v.r.sshEnv(p.set)}
}

// submodules says what to do about commits of submodules that are not
// published: they are at most looked for, and never pushed along.
func (p *pushing) submodules() string {
	for _, key := range []string{"push.recursesubmodules", "submodule.recurse"} {
		if value, ok := p.config.get(key); ok {
			switch strings.ToLower(value) {
			case "no", "false", "off", "0":
				return "no"
			}
			return "check"
		}
	}
	return "no"
}

// follow sets the branch to follow what was pushed, so that a plain push or
// pull later means the same.
func (p *pushing) follow(ctx context.Context) error {
	remote, merge := "branch."+p.branch+".remote", "branch."+p.branch+".merge"
	followed, _ := p.config.get(remote)
	if name, _ := p.config.get(merge); followed == p.remote && name == localRefs+p.branch {
		return nil
	}
	lock, err := p.v.r.lock(ctx, p.req.Project)
	if err != nil {
		return err
	}
	defer lock.release()
	for _, set := range [][]string{{remote, p.remote}, {merge, localRefs + p.branch}} {
		_, err := p.v.r.git.run(ctx, command{
			dir: p.at.Directory, write: true, inherit: lock.inherit(),
			args: append([]string{"config", "--local", "--replace-all"}, set...),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// remoteWords tells what the remote says while it is pushed to.
type remoteWords struct {
	tell    func(workspace.Event)
	partial []byte
}

// maxRemoteLine bounds a line of a remote's.
const maxRemoteLine = 4096

func (w *remoteWords) Write(p []byte) (int, error) {
	w.partial = append(w.partial, p...)
	for {
		i := bytes.IndexAny(w.partial, "\r\n")
		if i < 0 {
			w.partial = w.partial[:min(len(w.partial), maxRemoteLine)]
			return len(p), nil
		}
		line := strings.ToValidUTF8(string(w.partial[:i]), "\uFFFD")
		w.partial = w.partial[i+1:]
		words, ok := strings.CutPrefix(line, "remote:")
		if words = strings.TrimSpace(words); ok && words != "" && !progressLine.MatchString(words) {
			w.tell(workspace.Event{Phase: workspace.PhasePush, Message: redact(words)})
		}
	}
}
