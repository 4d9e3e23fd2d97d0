package gitops

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The bounds of what is told of a hook's output.
const (
	hookLines     = 5
	hookLineRunes = 200
)

// hookCommands are the git commands that run hooks of people's, whose words say
// why git refused.
var hookCommands = []string{"commit", "merge", "rebase", "hook", "cherry-pick"}

// gitNoise begins the lines of these commands that say nothing of a failure,
// or advise what would be wrong here: it is not a person who ran them.
var gitNoise = []string{
	"hint:", "Not committing merge;", "Rebasing (", "Auto-merging ", "Automatic merge went well", "Squash commit -- not updating HEAD",
	"Could not apply ", "You can amend the commit now", "git commit --amend", "Once you are satisfied", "git rebase --continue",
	"Updating ", "Fast-forward", "Performing inexact rename detection",
}

var ansi = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// complaint returns what says best what went wrong: of a command that runs
// hooks their last few lines first, and then what git itself marks as an error.
func (e *GitError) complaint() string {
	if len(e.Args) == 0 || !slices.Contains(hookCommands, e.Args[0]) {
		return complaint(e.Stderr)
	}
	var own, said []string
	for line := range strings.Lines(ansi.ReplaceAllString(e.Stderr, "")) {
		line = cleanLine(line)
		switch {
		case line == "" || slices.ContainsFunc(gitNoise, func(noise string) bool { return strings.HasPrefix(line, noise) }):
		case strings.HasPrefix(line, "error: "), strings.HasPrefix(line, "fatal: "):
			own = append(own, line)
		default:
			said = append(said, line)
		}
	}
	said = said[max(0, len(said)-hookLines):]
	if len(own) > 0 {
		said = append(said, complaint(strings.Join(own, "\n")))
	}
	return strings.Join(said, "; ")
}

// cleanLine is a line as a terminal would have shown it, without what steers
// one, and not too long.
func cleanLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, line))
	if runes := []rune(line); len(runes) > hookLineRunes {
		line = string(runes[:hookLineRunes]) + "…"
	}
	return line
}
