package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// maxSubmoduleDepth bounds submodules within submodules.
const maxSubmoduleDepth = 10

// submodule is one that a checkout's tree has.
type submodule struct {
	name, path, commit string
	// update is how .gitmodules or the configuration wants it updated.
	update string
}

// superproject is a checkout that may have submodules.
type superproject struct {
	directory string
	// label is its path as warnings show it, "" for the top.
	label string
	// copies are git directories whose modules are copies of the submodules.
	copies []string
	depth  int
}

// initSubmodules initialises the submodules of the fresh worktree, from the
// copies that other checkouts of the project have where these hold the commit,
// and else from the network. A broken one is a warning.
func (m *making) initSubmodules(ctx context.Context, directory, admin string) {
	if _, err := os.Lstat(filepath.Join(directory, ".gitmodules")); err != nil {
		return
	}
	m.req.Progress(workspace.Event{Phase: workspace.PhaseSubmodules, Message: "Initialising submodules"})
	bounded, cancel := context.WithTimeout(ctx, m.p.o.SubmoduleTimeout)
	defer cancel()
	m.initAll(bounded, superproject{directory: directory, copies: m.copies(admin)})
	if ctx.Err() == nil && bounded.Err() != nil {
		m.warn(workspace.PhaseSubmodules, "the submodules were not all initialised within %s", m.p.o.SubmoduleTimeout)
	}
}

// copies are the git directories of the project that may have submodules:
// the main one, that of the caller's checkout, and those of other worktrees.
func (m *making) copies(admin string) []string {
	list := []string{m.req.Project.ID}
	if m.req.Project.TopLevel != "" {
		if dir, err := checkoutGitDir(m.req.Project); err == nil && dir != m.req.Project.ID {
			list = append(list, dir)
		}
	}
	entries, _ := readEntries(m.req.Project.ID)
	for _, e := range entries {
		if e.path != admin && !slices.Contains(list, e.path) {
			list = append(list, e.path)
		}
	}
	return list
}

func (m *making) initAll(ctx context.Context, super superproject) {
	modules, err := m.submodules(ctx, super.directory)
	if err != nil {
		m.warn(workspace.PhaseSubmodules, "the submodules of %s can't be listed: %v", labelOf(super.label, "the worktree"), err)
		return
	}
	for _, s := range modules {
		if ctx.Err() != nil {
			return
		}
		if s.update == "none" {
			continue
		}
		label := filepath.Join(super.label, s.path)
		if err := m.initOne(ctx, super, s); err != nil {
			m.warn(workspace.PhaseSubmodules, "the submodule %s could not be initialised: %v", label, err)
			continue
		}
		m.within(ctx, super, s, label)
	}
}

func labelOf(label, none string) string {
	if label == "" {
		return none
	}
	return label
}

// within initialises the submodules of a submodule.
func (m *making) within(ctx context.Context, super superproject, s submodule, label string) {
	directory := filepath.Join(super.directory, s.path)
	if _, err := os.Lstat(filepath.Join(directory, ".gitmodules")); err != nil {
		return
	}
	if super.depth >= maxSubmoduleDepth {
		m.warn(workspace.PhaseSubmodules, "the submodules of %s lie too deep and were not initialised", label)
		return
	}
	next := superproject{directory: directory, label: label, depth: super.depth + 1}
	for _, c := range super.copies {
		next.copies = append(next.copies, filepath.Join(c, "modules", filepath.FromSlash(s.name)))
	}
	m.initAll(ctx, next)
}

// submodules returns those of a checkout's .gitmodules that the index has.
func (m *making) submodules(ctx context.Context, directory string) ([]submodule, error) {
	out, err := m.r.git.run(ctx, command{dir: directory, args: []string{"ls-files", "-s", "-t", "-z"}, inherit: m.req.Inherit})
	if err != nil {
		return nil, err
	}
	links := parseGitlinks(out)
	if len(links) == 0 {
		return nil, nil
	}
	pattern := `^submodule\..*\.(path|update)$`
	out, err = m.r.git.run(ctx, command{
		dir: directory, args: []string{"config", "-z", "-f", ".gitmodules", "--get-regexp", pattern}, inherit: m.req.Inherit,
	})
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	configured, err := m.r.git.run(ctx, command{
		dir: directory, args: []string{"config", "-z", "--get-regexp", `^submodule\..*\.update$`}, inherit: m.req.Inherit,
	})
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	return joinSubmodules(links, append(out, configured...)), nil
}

// parseGitlinks reads "git ls-files -s -t -z": the commits of submodules by
// path, without those that a sparse checkout leaves out.
func parseGitlinks(out []byte) map[string]string {
	links := make(map[string]string)
	for record := range bytes.SplitSeq(out, []byte{0}) {
		head, path, ok := bytes.Cut(record, []byte("\t"))
		fields := bytes.Fields(head)
		if ok && len(fields) == 4 && string(fields[0]) != "S" && string(fields[1]) == "160000" {
			links[string(path)] = string(fields[2])
		}
	}
	return links
}

// joinSubmodules brings the records of .gitmodules and of the configuration,
// later ones winning, together with the index's. They are sorted by path.
func joinSubmodules(links map[string]string, config []byte) []submodule {
	byName := make(map[string]*submodule)
	for record := range bytes.SplitSeq(config, []byte{0}) {
		key, value, ok := strings.Cut(string(record), "\n")
		i := strings.LastIndexByte(key, '.')
		if !ok || i < len("submodule.") {
			continue
		}
		name := key[len("submodule."):i]
		if byName[name] == nil {
			byName[name] = &submodule{name: name}
		}
		if key[i+1:] == "path" {
			byName[name].path = strings.TrimSuffix(value, "/")
		} else {
			byName[name].update = value
		}
	}
	var list []submodule
	for _, s := range byName {
		if commit, ok := links[s.path]; ok {
			s.commit = commit
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(a, b submodule) int { return strings.Compare(a.path, b.path) })
	return list
}

// initOne initialises one submodule.
func (m *making) initOne(ctx context.Context, super superproject, s submodule) error {
	if err := m.registerSubmodule(ctx, super, s); err != nil {
		return err
	}
	source := m.copyOf(ctx, super, s)
	var local error
	if source != "" {
		if local = m.fromCopy(ctx, super, s, source); local == nil {
			return nil
		}
	}
	if m.req.NoFetch {
		return errors.Join(local, errors.New("no local copy has its commit, and fetching was not allowed"))
	}
	return m.submoduleUpdate(ctx, super, s, nil, m.r.sshEnv(m.set))
}

// registerSubmodule writes the submodule's address into the configuration,
// which all checkouts share: under the lock, or two at once fail.
func (m *making) registerSubmodule(ctx context.Context, super superproject, s submodule) error {
	if super.depth == 0 {
		lock, err := m.r.lock(ctx, m.req.Project)
		if err != nil {
			return err
		}
		defer lock.release()
	}
	_, err := m.r.git.run(ctx, command{
		dir: super.directory, args: []string{"submodule", "-q", "init", "--", literal(s.path)}, write: true,
		inherit: m.req.Inherit, config: m.set.hooksOff(m.req.Setup),
	})
	return err
}

// literal keeps git from reading a path as a pattern.
func literal(path string) string { return ":(literal)" + path }

// copyOf returns the git directory of another checkout's copy of a submodule
// that has the commit, "" if there is none.
func (m *making) copyOf(ctx context.Context, super superproject, s submodule) string {
	name := filepath.FromSlash(s.name)
	if !filepath.IsLocal(name) {
		return ""
	}
	candidates := make([]string, 0, len(super.copies)+1)
	for _, c := range super.copies {
		candidates = append(candidates, filepath.Join(c, "modules", name))
	}
	if m.set.mainTop != "" {
		// Those that were made long ago keep their git directory in place.
		candidates = append(candidates, filepath.Join(m.set.mainTop, super.label, s.path, ".git"))
	}
	for _, dir := range candidates {
		if info, err := os.Stat(filepath.Join(dir, "objects")); err != nil || !info.IsDir() {
			continue
		}
		_, err := m.r.git.run(ctx, command{
			dir: dir, env: []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + dir}, args: []string{"cat-file", "-e", s.commit + "^{commit}"}, inherit: m.req.Inherit,
		})
		if err == nil {
			return dir
		}
	}
	return ""
}

// fromCopy clones a submodule from a local copy, and then makes it what a
// clone of its own address would be.
func (m *making) fromCopy(ctx context.Context, super superproject, s submodule, source string) error {
	address, err := m.r.git.line(ctx, command{
		dir: super.directory, args: []string{"config", "--get", "submodule." + s.name + ".url"}, inherit: m.req.Inherit,
	})
	if err != nil {
		return err
	}
	env := configEnv([2]string{"submodule." + s.name + ".url", source}, [2]string{"protocol.file.allow", "always"})
	if err := m.submoduleUpdate(ctx, super, s, []string{"--no-recommend-shallow"}, env); err != nil {
		return err
	}
	directory := filepath.Join(super.directory, s.path)
	remote := func(args ...string) error {
		_, err := m.r.git.run(ctx, command{
			dir: directory, args: args, write: true, inherit: m.req.Inherit, config: m.set.hooksOff(m.req.Setup),
			env: configEnv([2]string{"protocol.file.allow", "always"}),
		})
		return err
	}
	if err := remote("config", "remote.origin.url", address); err != nil {
		return err
	}
	// The copy's branches are not those of the remote; its tracking refs are.
	const head = "refs/remotes/origin/HEAD"
	err = remote("fetch", "-q", "--no-tags", "--prune", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=",
		"--", source, "+refs/remotes/origin/*:refs/remotes/origin/*", "^"+head)
	if err != nil {
		return err
	}
	if target, err := m.r.openRefs(source).symbolic(ctx, head); err == nil && target != "" {
		return remote("symbolic-ref", head, target)
	}
	return nil
}

func (m *making) submoduleUpdate(ctx context.Context, super superproject, s submodule, more, env []string) error {
	args := append([]string{"submodule", "-q", "update", "--init", "--checkout"}, more...)
	_, err := m.r.git.run(ctx, command{
		dir: super.directory, args: append(args, "--", literal(s.path)), write: true, env: env,
		inherit: m.req.Inherit, config: m.set.hooksOff(m.req.Setup),
	})
	return err
}

// configEnv sets configuration whose keys may hold any character.
func configEnv(settings ...[2]string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, kv := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}
