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

// replayNeeds is what the configuration asks of new commits.
type replayNeeds struct {
	// committer and author are the user's, with the time.
	committer, author string
	// signing is true where commits are to be signed.
	signing bool
	// encoding is that of new commits, "" for UTF-8.
	encoding string
	// cleanup is what is to be done to messages, "" for nothing.
	cleanup string
	// hooks are those that git would run.
	hooks []string
	// notes is true where notes follow rewritten commits.
	notes bool
}

const needsPattern = `^(core\.hookspath|commit\.(gpgsign|cleanup)|i18n\.commitencoding|notes\.rewrite.*)$`

// rebaseHooks, mergeHooks and squashHooks are the hooks that git runs where it
// does it itself, but for those of the target's move at the end.
var (
	rebaseHooks = []string{"pre-rebase", "prepare-commit-msg", "post-commit", "post-checkout", "post-rewrite", "reference-transaction"}
	mergeHooks  = []string{"pre-merge-commit", "prepare-commit-msg", "commit-msg"}
	squashHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}
)

// hooksOf names the hooks that git runs where it does it itself.
func hooksOf(s workspace.Strategy) []string {
	switch s {
	case workspace.StrategyMerge:
		return mergeHooks
	case workspace.StrategySquash:
		return squashHooks
	}
	return rebaseHooks
}

// findNeeds asks git for what it would ask itself, all at once.
func (c *composer) findNeeds(ctx context.Context, rebase bool) (replayNeeds, error) {
	var needs replayNeeds
	together, ctx := errgroup.WithContext(ctx)
	together.Go(func() error { return c.readNeeds(ctx, &needs, rebase) })
	identity := func(name string, into *string) {
		together.Go(func() (err error) {
			*into, err = c.identity(ctx, name)
			return err
		})
	}
	identity("GIT_COMMITTER_IDENT", &needs.committer)
	if !rebase {
		identity("GIT_AUTHOR_IDENT", &needs.author)
	}
	return needs, together.Wait()
}

// readNeeds reads the configuration of the checkout.
func (c *composer) readNeeds(ctx context.Context, needs *replayNeeds, rebase bool) error {
	cmd := c.plain("config", "-z", "--get-regexp", needsPattern)
	config, err := c.r.git.listConfig(ctx, cmd)
	if exitCode(err) == 1 {
		config, err = &repoConfig{}, nil
	}
	if err != nil {
		return err
	}
	needs.signing, _ = config.truth("commit.gpgsign")
	if encoding, _ := config.get("i18n.commitencoding"); !isUTF8(encoding) {
		needs.encoding = encoding
	}
	switch cleanup, _ := config.get("commit.cleanup"); cleanup {
	case "strip", "whitespace", "scissors":
		needs.cleanup = cleanup
	}
	_, needs.notes = config.get("notes.rewriteref")
	needs.notes = needs.notes || slices.ContainsFunc(c.r.git.env, func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_NOTES_REWRITE_REF=")
	})
	if !needs.notes {
		tip, err := c.r.openRefs(c.in.project.ID).lookup(ctx, commitNotes)
		if err != nil {
			return err
		}
		needs.notes = tip != ""
	}
	names := hooksOf(c.in.strategy)
	if rebase {
		names = rebaseHooks
	}
	needs.hooks, err = c.hooks(ctx, config, names)
	return err
}

// hooks returns those of the named hooks that git would run.
func (c *composer) hooks(ctx context.Context, config *repoConfig, names []string) ([]string, error) {
	set := &settings{values: config.values, mainTop: c.in.top}
	if err := set.findHooks(ctx, c.r, c.in.project); err != nil {
		return nil, err
	}
	if len(set.hooksOff(c.in.repoHooks)) > 0 {
		return nil, nil
	}
	var found []string
	for _, name := range names {
		if runnable(filepath.Join(set.hooks, name)) {
			found = append(found, name)
		}
	}
	return found, nil
}

// runnable reports whether git would run the file as a hook.
func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// skippedHooks returns those hooks that git would run for the new commits, and
// that may not run because the repository brings them.
func (m *merging) skippedHooks() []string {
	if m.g.o.RepositoryHooks {
		return nil
	}
	var skipped []string
	for _, name := range hooksOf(m.strategy) {
		if path, inTree := m.set.hookOf(m.req.Project, m.at, name); inTree && runnable(path) {
			skipped = append(skipped, name)
		}
	}
	return skipped
}

// identity asks git who the user is.
func (c *composer) identity(ctx context.Context, name string) (string, error) {
	id, err := c.r.git.line(ctx, c.plain("var", name))
	if exitCode(err) > 0 {
		return "", failure("", "git doesn't know who commits; nothing was changed",
			"set user.name and user.email: git config --global user.name NAME; git config --global user.email ADDRESS", err)
	}
	return id, err
}

// reason says why git has to rebase the picks itself, "" if it need not.
func (n replayNeeds) reason(picks []pick) string {
	foreign := slices.IndexFunc(picks, func(p pick) bool { return !p.commit.decodable() || p.commit.author == "" })
	switch {
	case n.signing:
		return "commit.gpgSign asks for signed commits"
	case n.encoding != "":
		return "i18n.commitEncoding asks for commits in " + n.encoding
	case n.cleanup != "":
		return "commit.cleanup asks for " + n.cleanup
	case len(n.hooks) > 0:
		return "there are hooks that a rebase runs: " + strings.Join(n.hooks, ", ")
	case foreign >= 0:
		return fmt.Sprintf("the commit %s is written in the encoding %q", picks[foreign].id, picks[foreign].commit.encoding)
	}
	return ""
}
