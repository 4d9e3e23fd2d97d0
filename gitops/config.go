package gitops

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/config"
	format "github.com/go-git/go-git/v5/plumbing/format/config"
)

// repoConfig is a repository's own configuration file: the values by
// "section.key" or "section.subsection.key", section and key in lower case, in
// the order of the file.
type repoConfig struct {
	values map[string][]string
	// remotes are the names of the remotes in the order of the file.
	remotes []string
}

// get returns the last value of a key, as git takes it.
func (c *repoConfig) get(key string) (string, bool) {
	v := c.values[key]
	if len(v) == 0 {
		return "", false
	}
	return v[len(v)-1], true
}

// truth returns the boolean value of a key and whether it is set.
func (c *repoConfig) truth(key string) (value, set bool) {
	v, ok := c.get(key)
	if !ok {
		return false, false
	}
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true, true
	}
	return false, true
}

func (c *repoConfig) add(section, subsection, key, value string) {
	name := strings.ToLower(section)
	if subsection != "" {
		name += "." + subsection
	}
	name += "." + strings.ToLower(key)
	c.values[name] = append(c.values[name], value)
	if strings.EqualFold(section, "remote") && subsection != "" && !slices.Contains(c.remotes, subsection) {
		c.remotes = append(c.remotes, subsection)
	}
}

// includes reports whether other files are part of the configuration.
func (c *repoConfig) includes() bool {
	for key := range c.values {
		if strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") {
			return true
		}
	}
	return false
}

// promisor reports whether objects may be missing here that git would fetch
// when they are looked at.
func (c *repoConfig) promisor() bool {
	if _, ok := c.get("extensions.partialclone"); ok {
		return true
	}
	for _, remote := range c.remotes {
		if on, _ := c.truth("remote." + remote + ".promisor"); on {
			return true
		}
	}
	return false
}

// tracking returns the full names of the refs that hold what is known of a
// branch's remote sides: that of its upstream first, then those of the remotes
// upstream and origin. They need not exist.
func (c *repoConfig) tracking(branch string) []string {
	var refs []string
	add := func(ref string) {
		if ref != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	remote, _ := c.get("branch." + branch + ".remote")
	if merge, ok := c.get("branch." + branch + ".merge"); ok && remote != "" && remote != "." {
		add(c.fetched(remote, merge))
	}
	for _, name := range []string{"upstream", "origin"} {
		if slices.Contains(c.remotes, name) {
			add(c.fetched(name, "refs/heads/"+branch))
		}
	}
	return refs
}

// fetched returns the ref that a fetch writes for a ref of a remote, "" if it
// writes none.
func (c *repoConfig) fetched(remote, ref string) string {
	name := refName(ref)
	for _, value := range c.values["remote."+remote+".fetch"] {
		spec := config.RefSpec(value)
		if spec.Validate() == nil && !strings.HasPrefix(value, "^") && spec.Match(name) {
			return spec.Dst(name).String()
		}
	}
	return ""
}

// readConfigFile reads one configuration file. A file that isn't there is an
// empty one. Where go-git can't read it, git is asked.
func (g *git) readConfigFile(ctx context.Context, path string) (*repoConfig, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	raw := format.New()
	if err := format.NewDecoder(bytes.NewReader(data)).Decode(raw); err != nil {
		return g.listConfig(ctx, command{dir: filepath.Dir(path), args: []string{"config", "--file", path, "-z", "--list"}})
	}
	c := &repoConfig{values: make(map[string][]string)}
	for _, s := range raw.Sections {
		for _, o := range s.Options {
			c.add(s.Name, "", o.Key, o.Value)
		}
		for _, sub := range s.Subsections {
			for _, o := range sub.Options {
				c.add(s.Name, sub.Name, o.Key, o.Value)
			}
		}
	}
	return c, nil
}

// listConfig runs a "git config -z --list".
func (g *git) listConfig(ctx context.Context, cmd command) (*repoConfig, error) {
	out, err := g.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return parseConfigList(out), nil
}

// parseConfigList reads the output of "git config -z --list".
func parseConfigList(out []byte) *repoConfig {
	c := &repoConfig{values: make(map[string][]string)}
	for record := range bytes.SplitSeq(out, []byte{0}) {
		name, value, ok := strings.Cut(string(record), "\n")
		if !ok {
			value = "true" // a key without "=" is one that is switched on
		}
		section, rest, ok := strings.Cut(name, ".")
		if !ok {
			continue
		}
		subsection, key := "", rest
		if i := strings.LastIndexByte(rest, '.'); i >= 0 {
			subsection, key = rest[:i], rest[i+1:]
		}
		c.add(section, subsection, key, value)
	}
	return c
}

// config returns the configuration of the repository with that common
// directory, the files that it includes among it. What is set for all
// repositories of a user is not part of it.
func (r *Repository) config(ctx context.Context, common string) (*repoConfig, error) {
	c, err := r.git.readConfigFile(ctx, filepath.Join(common, "config"))
	if err != nil || !c.includes() {
		return c, err
	}
	return r.git.listConfig(ctx, command{
		dir: common, env: []string{"GIT_DIR=" + common},
		args: []string{"config", "--local", "--includes", "-z", "--list"},
	})
}
