package discordbot

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/threadtree/threadtree/workspace"
)

// renderPreview says what a merge would do.
func renderPreview(p workspace.Preview) string {
	t := newText()
	strategy := orElse(string(p.Strategy), string(workspace.StrategyRebase))
	t.add(fmt.Sprintf("Merging %s into %s (%s) would bring %s, %s.", codeOf(orElse(p.Branch, "HEAD"), 160), codeOf(p.Target, 160),
		plain(strategy, 20), counted(len(p.Commits), "commit"), totalOf(p.Files)))
	switch {
	case p.Conflict != nil:
		t.add("⚔️ It would stop at a conflict in " + counted(len(p.Conflict.Files), "file") + ":")
		t.addList(codesOf(p.Conflict.Files, 100), 5, "file")
	case len(p.Refusals) > 0:
	case p.Clean && p.FastForward:
		t.add("✅ It goes through as it is; the commits keep their ids.")
	case p.Clean:
		t.add("✅ It goes through.")
	}
	if len(p.Refusals) > 0 {
		t.add("❌ It would be refused now:")
	}
	for i, refusal := range p.Refusals {
		if i == 3 {
			t.add("-# … and " + counted(len(p.Refusals)-3, "more reason"))
			break
		}
		t.add("- " + refusalLine(refusal))
	}
	addCommits(t, "Commits:", p.Commits, 5)
	if len(p.Files) > 0 {
		t.add(block("", strings.Join(statOf(p.Files, 15), "\n"), 700))
	}
	return t.String()
}

// refusalLine says in one line what stands in the way, and what to do.
func refusalLine(err error) string {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return prose(err.Error(), 240, nil)
	}
	line := prose(messageOf(e), 240, nil)
	if hint := workspace.HintOf(err); hint != "" {
		line += " Next: " + lower(prose(hint, 160, nil))
	}
	return line
}

// renderDiff draws how a workspace differs from its base, without the patch.
func renderDiff(d workspace.Diff) string {
	t := newText()
	base := codeOf(orElse(d.Base, "its base"), 200)
	if d.BaseCommit != "" {
		base += " at " + code(shortSHA(d.BaseCommit))
	}
	if len(d.Files) == 0 {
		t.add("Nothing differs from " + base + ".")
		return t.String()
	}
	t.add("Against " + base + ": " + totalOf(d.Files))
	if d.Truncated {
		t.add("⚠️ The patch is too long and was cut.")
	}
	const room = 1400
	stat, n := "", min(len(d.Files), 40)
	for ; n > 0; n-- {
		if stat = strings.Join(statOf(d.Files, n), "\n"); utf8.RuneCountInString(stat) <= room {
			break
		}
	}
	t.add(block("", stat, room+100))
	return t.String()
}

// totalOf counts files and lines.
func totalOf(files []workspace.FileChange) string {
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+max(f.Added, 0), deleted+max(f.Deleted, 0)
	}
	return fmt.Sprintf("%s, +%d −%d", counted(len(files), "file"), added, deleted)
}

// statOf returns a line for each of at most n files. The counts come first:
// names have all lengths.
func statOf(files []workspace.FileChange, n int) []string {
	lines := make([]string, 0, min(n, len(files))+1)
	for i, f := range files {
		if i == n {
			lines = append(lines, "… "+counted(len(files)-n, "more file"))
			break
		}
		name := clip(oneLine(f.Path), 90)
		if f.From != "" {
			name += "  (was " + clip(oneLine(f.From), 60) + ")"
		}
		if f.Added < 0 || f.Deleted < 0 {
			lines = append(lines, "     binary  "+name)
		} else {
			lines = append(lines, fmt.Sprintf("%5s %5s  %s", fmt.Sprintf("+%d", f.Added), fmt.Sprintf("−%d", f.Deleted), name))
		}
	}
	return lines
}
