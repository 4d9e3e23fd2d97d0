package gitops

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/threadtree/threadtree/workspace"
)

// join makes one commit of all: a merge commit, or a squash.
func (c *composer) join(ctx context.Context, picks []pick) error {
	// The text is ours: hooks are reported, and the commits' encodings don't
	// matter.
	c.out.hooks, c.needs.hooks, c.needs.cleanup = c.needs.hooks, nil, ""
	if c.out.needsGit = c.needs.reason(nil); c.out.needsGit != "" {
		return nil
	}
	onto, err := c.objects.commit(c.in.onto)
	if err != nil {
		return err
	}
	if err := c.attributes.checkout(ctx, onto.tree); err != nil {
		return err
	}
	merged, err := c.mergeTree(ctx, c.in.onto, c.in.tip, false)
	if err != nil {
		return cmp.Or(c.unrelated(ctx), err)
	}
	if !merged.clean {
		c.out.conflict = newReplayConflict(merged, workspace.CommitInfo{}, 0)
		return nil
	}
	if c.in.strategy == workspace.StrategyMerge {
		return c.commitMerge(ctx, merged.tree, len(picks))
	}
	if merged.tree == onto.tree {
		c.out.dropped = len(picks)
		return c.finish(c.in.onto, 0)
	}
	text := c.squashed(ctx, picks)
	c.out.tip, c.out.tree, c.out.commits = c.put("commit", formatCommit(merged.tree, []string{c.in.onto}, text, c.needs.committer)), merged.tree, 1
	return nil
}

// unrelated is the refusal where the sides have no commit in common, which git
// doesn't merge; nil where they have, or where that can't be found out.
func (c *composer) unrelated(ctx context.Context) error {
	_, err := c.r.git.run(ctx, c.plain("merge-base", c.in.onto, c.in.tip))
	if exitCode(err) != 1 {
		return nil
	}
	e := &workspace.Error{
		Code:    workspace.ErrNotFastForward,
		Message: fmt.Sprintf("the commits and %s have none in common, which git doesn't merge; nothing was changed", c.in.target),
		Hint:    "use the strategy rebase",
	}
	switch {
	case cutOff(c.in.project):
		e.Hint = "the history is cut off: fetch the rest of it, with: git fetch --unshallow"
	case c.out.merges > 0:
		e.Hint = fmt.Sprintf("if they are to be merged, in the workspace: git merge --allow-unrelated-histories %s", quoted(c.in.target))
	}
	return e
}

func (c *composer) commitMerge(ctx context.Context, tree string, picks int) error {
	text := tidy(c.in.message)
	if text == "" {
		var err error
		if text, err = c.mergeMessage(ctx); err != nil {
			return err
		}
	}
	s := signed{author: c.needs.author, message: text}
	c.out.tip = c.put("commit", formatCommit(tree, []string{c.in.onto, cmp.Or(c.in.parent, c.in.tip)}, s, c.needs.committer))
	c.out.tree, c.out.commits = tree, picks+c.out.merges-c.in.parentMerges+1
	return nil
}

// mergeMessage asks git for the message of the merge. A list of commits isn't
// asked for: it would be counted from another HEAD than the target.
func (c *composer) mergeMessage(ctx context.Context) (string, error) {
	what := "commit '" + cmp.Or(c.in.parent, c.in.tip) + "'"
	if c.in.branch != "" {
		what = "branch '" + c.in.branch + "' of ."
	}
	cmd := c.plain("fmt-merge-msg", "--into-name", c.in.target)
	cmd.config = []string{"merge.log=false"}
	// Of what HEAD has below it git would say nothing.
	cmd.stdin = strings.NewReader(c.in.tip + "\t\t" + what + "\n")
	out, err := c.r.git.run(ctx, cmd)
	return string(out), err
}

// squashed is the author and the message of a squash: those of a lone commit,
// or else the subjects and bodies of all of them, and everybody who wrote them.
func (c *composer) squashed(ctx context.Context, picks []pick) signed {
	if len(picks) == 0 { // merge commits alone
		return signed{c.needs.author, cmp.Or(tidy(c.in.message), branchWords(c.in.branch), "Squash "+c.in.tip) + "\n"}
	}
	last := picks[len(picks)-1].commit.replayed()
	if len(picks) == 1 {
		if given := tidy(c.in.message); given != "" {
			last.message = given
		}
		return last
	}
	authors := newAuthors(picks)
	s := signed{author: last.author}
	if authors.several {
		if c.rehearsal {
			// Nobody is asked for; where git knows who it is, all the better.
			c.needs.author, _ = c.identity(ctx, "GIT_AUTHOR_IDENT")
		}
		s.author = c.needs.author
	}
	text := tidy(c.in.message)
	if text == "" {
		text = c.subjects(picks)
	}
	s.message = text + authors.trailers(s.author, text)
	return s
}

// subjects is a message made of those of the picks, each with its body.
func (c *composer) subjects(picks []pick) string {
	var b strings.Builder
	first := branchWords(c.in.branch)
	if first == "" {
		first = c.out.source[0].Subject
	}
	b.WriteString(first + "\n\n")
	apart := false // a body before or after keeps a line between
	for i, info := range c.out.source {
		text := body(repairUTF8(picks[i].commit.replayed().message))
		if info.Subject == "" && text == "" {
			continue
		}
		if i > 0 && (apart || text != "") {
			b.WriteString("\n")
		}
		if info.Subject != "" {
			b.WriteString("* " + info.Subject + "\n")
		}
		if apart = text != ""; apart {
			b.WriteString("\n" + text)
		}
	}
	return tidy(b.String())
}

// body is what a message says after its first paragraph, without the lines for
// co-authors, who are named once for all commits.
func body(message string) string {
	_, rest, _ := strings.Cut(skipBlankLines(strings.ReplaceAll(message, "\r\n", "\n")), "\n")
	var lines []string
	first := true // still in the first paragraph
	for line := range strings.SplitSeq(rest, "\n") {
		if first = first && strings.TrimSpace(line) != ""; first {
			continue
		}
		if len(line) > len(coAuthor) && strings.EqualFold(line[:len(coAuthor)], coAuthor) {
			continue
		}
		lines = append(lines, line)
	}
	return tidy(strings.Join(lines, "\n"))
}

// branchWords is the last part of a branch's name as a title.
func branchWords(branch string) string {
	name := branch[strings.LastIndexByte(branch, '/')+1:]
	words := strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' || r == '_' }), " ")
	first, size := utf8.DecodeRuneInString(words)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + words[size:]
}

// tidy drops what a commit's message has no use for: blank lines around it,
// and NUL. It ends the last line.
func tidy(message string) string {
	message = strings.TrimRight(skipBlankLines(strings.ReplaceAll(message, "\x00", "")), " \t\r\n")
	if message == "" {
		return ""
	}
	return message + "\n"
}

// authors are those who wrote some commits.
type authors struct {
	// names are "Name <email>" by the address in lower case, and emails are
	// these in the order of their first commit.
	names  map[string]string
	emails []string
	// several is true where the commits have more than one author, those that
	// are named beside them not counted.
	several bool
}

const coAuthor = "Co-authored-by: "

func newAuthors(picks []pick) *authors {
	a := &authors{names: make(map[string]string)}
	for _, p := range picks {
		s := p.commit.replayed()
		a.add(s.author)
		_, email, _ := splitIdentity(s.author)
		a.several = a.several || len(a.emails) > 0 && !strings.EqualFold(email, a.emails[0])
		for line := range strings.Lines(s.message) {
			if len(line) > len(coAuthor) && strings.EqualFold(line[:len(coAuthor)], coAuthor) {
				a.add(line[len(coAuthor):])
			}
		}
	}
	return a
}

func (a *authors) add(identity string) {
	name, email, _ := splitIdentity(identity)
	key := strings.ToLower(email)
	if _, known := a.names[key]; known || email == "" {
		return
	}
	a.names[key] = name + " <" + email + ">"
	a.emails = append(a.emails, key)
}

// trailers are the lines for everybody but the author, where text hasn't them.
func (a *authors) trailers(author, text string) string {
	_, own, _ := splitIdentity(author)
	var lines []string
	for _, email := range a.emails {
		line := coAuthor + a.names[email] + "\n"
		if email != strings.ToLower(own) && !slices.Contains(slices.Collect(strings.Lines(text)), line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	if !endsInTrailer.MatchString(text) {
		lines = append([]string{"\n"}, lines...)
	}
	return strings.Join(lines, "")
}

// endsInTrailer matches a message to whose last lines others may be added.
var endsInTrailer = regexp.MustCompile(`\n\n([A-Za-z-]+-[Bb]y: [^\n]*\n)+$`)
