package gitops

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// chooseRemote settles where to push.
func (p *pushing) chooseRemote(context.Context) error {
	for _, key := range []string{"branch." + p.branch + ".pushremote", "remote.pushdefault"} {
		name, ok := p.config.get(key)
		if !ok {
			continue
		}
		if !p.isRemote(name) {
			return p.refuse(workspace.ErrTargetNotFound, "see: git remote -v", "the setting %s names %s, which is no remote of the project", key, redact(name))
		}
		p.remote = name
		return nil
	}
	followed, _ := p.config.get("branch." + p.branch + ".remote")
	merge, _ := p.config.get("branch." + p.branch + ".merge")
	switch {
	case merge == localRefs+p.branch && p.isRemote(followed):
		p.remote = followed
	case p.isRemote("origin"):
		p.remote = "origin"
	case len(p.remotes()) == 1:
		p.remote = p.remotes()[0]
	case len(p.remotes()) == 0:
		return p.refuse(workspace.ErrTargetNotFound, "add one: git remote add origin URL", "%s has no remote to push to", p.req.Project.Name)
	default:
		return p.refuse(workspace.ErrTargetNotFound, "choose one: git config remote.pushDefault NAME",
			"%s has several remotes, %s, and none is chosen for pushing", p.req.Project.Name, strings.Join(p.remotes(), ", "))
	}
	return nil
}

// remotes are those that have an address.
func (p *pushing) remotes() []string {
	var names []string
	for _, name := range p.config.remotes {
		if p.isRemote(name) {
			names = append(names, name)
		}
	}
	return names
}

func (p *pushing) isRemote(name string) bool {
	_, fetched := p.config.get("remote." + name + ".url")
	_, pushed := p.config.get("remote." + name + ".pushurl")
	return name != "" && !strings.HasPrefix(name, "-") && (fetched || pushed)
}

// findAddress finds where the remote is. A path that isn't absolute is meant
// from the project's checkout.
func (p *pushing) findAddress(ctx context.Context) error {
	address, err := p.v.r.git.line(ctx, command{dir: p.at.Directory, args: []string{"remote", "get-url", "--push", "--", p.remote}})
	if err != nil {
		return redacted(err)
	}
	if p.address = address; isRelativePath(address) {
		p.address = filepath.Join(workDir(p.req.Project), filepath.FromSlash(address))
	}
	return nil
}

// isRelativePath reports whether an address is a path and not absolute.
func isRelativePath(address string) bool {
	first, _, _ := strings.Cut(address, "/")
	return first != "" && !strings.Contains(first, ":")
}

// takeLease notes the commit that may be replaced.
func (p *pushing) takeLease(ctx context.Context) error {
	if !p.req.ForceWithLease {
		return nil
	}
	ref := p.config.fetched(p.remote, localRefs+p.branch)
	if ref == "" {
		return nil
	}
	var err error
	p.lease, err = p.comparer.refs.lookup(ctx, ref)
	return err
}

// url is where the host shows the branch beside its base.
func (p *pushing) url(ctx context.Context) string {
	base := p.parted.branch
	if base == p.branch {
		return ""
	}
	// Only a branch of that remote can be compared with there.
	base = strings.TrimPrefix(base, p.remote+"/")
	if ref := p.config.fetched(p.remote, localRefs+base); base == "" || ref == "" {
		base = ""
	} else if sha, err := p.comparer.refs.lookup(ctx, ref); err != nil || sha == "" {
		base = ""
	}
	return compareURL(p.address, base, p.branch)
}
