package gitops

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// spareless says why a repository has no spares, "" if it can have some. The
// package's documentation has the list.
func (s *settings) spareless(x *refs) string {
	switch {
	case x.store == nil:
		return "its refs are stored in a way that only git reads"
	case s.truth("core.fsmonitor"):
		return "a file system monitor is told of its worktrees by their paths"
	case s.truth("worktree.userelativepaths"), s.get("extensions.relativeworktrees") != "":
		return "its worktrees are found by relative paths"
	case s.truth("core.prefersymlinkrefs"):
		return "HEAD is a symbolic link in it"
	}
	for _, hook := range []string{"reference-transaction", "post-index-change"} {
		info, err := os.Stat(filepath.Join(s.hooks, hook))
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return "its hook " + hook + " wants to hear of each step of a checkout"
		}
	}
	return ""
}

// unrelated are sections of the configuration that don't decide what files a
// checkout makes.
var unrelated = []string{
	"alias.", "author.", "branch.", "color.", "column.", "commit.", "committer.", "credential.", "diff.", "difftool.", "fetch.",
	"format.", "gc.", "gpg.", "gui.", "help.", "http.", "https.", "log.", "maintenance.", "merge.", "mergetool.", "pack.", "pager.",
	"pull.", "push.", "rebase.", "receive.", "remote.", "rerere.", "safe.", "sendemail.", "stash.", "status.", "tag.", "tar.",
	"transfer.", "uploadpack.", "url.", "user.",
}

// fingerprint stands for all but the commit that decides what files a checkout
// makes, and whose they are: a spare that was made with another is none.
func (m *making) fingerprint() string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(m.set.values)) {
		if !slices.ContainsFunc(unrelated, func(section string) bool { return strings.HasPrefix(key, section) }) {
			fmt.Fprintf(sum, "%s=%q\n", key, m.set.values[key])
		}
	}
	common := m.req.Project.ID
	files := []string{
		filepath.Join(common, "config.worktree"), filepath.Join(common, "info", "attributes"),
		filepath.Join(common, "info", "sparse-checkout"), m.r.userAttributes(m.set),
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %q %t\n", path, content, err == nil)
	}
	fmt.Fprintf(sum, "%d %s\n", os.Geteuid(), umask())
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// userAttributes is the file in which a user has attributes of his own.
func (r *Repository) userAttributes(s *settings) string {
	env := func(key string) string {
		for _, kv := range slices.Backward(r.git.env) {
			if value, ok := strings.CutPrefix(kv, key+"="); ok {
				return value
			}
		}
		return ""
	}
	configured := s.get("core.attributesfile")
	switch rest, tilde := strings.CutPrefix(configured, "~/"); {
	case tilde:
		return filepath.Join(env("HOME"), rest)
	case configured != "":
		return configured
	case env("XDG_CONFIG_HOME") != "":
		return filepath.Join(env("XDG_CONFIG_HOME"), "git", "attributes")
	}
	return filepath.Join(env("HOME"), ".config", "git", "attributes")
}

// umask is that of this process, as the system tells it, "" where it doesn't.
func umask() string {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if mask, ok := strings.CutPrefix(lines.Text(), "Umask:"); ok {
			return strings.TrimSpace(mask)
		}
	}
	return ""
}

// errUnreachable says that a spare's files are as well written anew.
var errUnreachable = errors.New("the spare's files can't be made those of that commit by writing what differs")

// reachable returns why a spare's files can't be made those of a commit by
// writing what differs: attributes that differ decide also about files that
// don't, what is written next to a shared index isn't what a checkout writes,
// with a sparse index git leaves out the file that takes a folder's place, what
// a set-up has made may be ignored no more, and where most differs a new
// checkout is as fast.
func (m *making) reachable(ctx context.Context, rec spareRecord, to string) error {
	if m.set.truth("core.splitindex") {
		return errUnreachable
	}
	out, err := m.r.git.run(ctx, command{
		dir: rec.Common, env: []string{"GIT_DIR=" + rec.Common}, idle: m.idle,
		args: []string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", rec.Commit, to, "--"},
	})
	if err != nil {
		return err
	}
	changed := make(map[string]bool)
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if name := path[strings.LastIndexByte(path, '/')+1:]; name == ".gitattributes" || name == ".gitignore" && rec.Setup != nil {
			return errUnreachable
		}
		changed[path] = true
	}
	if m.set.truth("index.sparse") && below(changed, changed) || rec.Setup.meets(changed) {
		return errUnreachable
	}
	if files := rec.files(); files > 0 && len(changed) > max(files/2, 100) {
		return errUnreachable
	}
	return nil
}

// below reports whether one of the paths lies in a folder that is one of those.
func below(paths, folders map[string]bool) bool {
	for path := range paths {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			if folders[path[:at]] {
				return true
			}
		}
	}
	return false
}

// statusOf asks git what it says of a worktree, untracked and ignored files
// among it. With write it may refresh the index.
func (r *Repository) statusOf(ctx context.Context, c command, write bool) (string, error) {
	c.write = write
	c.args = []string{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=none", "--no-renames"}
	out, err := r.git.run(ctx, c)
	if err != nil || len(out) == 0 {
		return "", err
	}
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:16]), nil
}
