package gitops

import (
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestComplaintOfAHook has the hook's words first, and no advice of git's.
func TestComplaintOfAHook(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, stderr, want string }{
		"a hook alone":      {"commit", "LINT-REASON\n", "LINT-REASON"},
		"of a merge":        {"merge", "LINT-REASON\nNot committing merge; use 'git commit' to complete the merge.\n", "LINT-REASON"},
		"and git after it":  {"rebase", "Rebasing (1/2)\rno message\nerror: could not commit staged changes.\nhint: try\n", "no message; error: could not commit staged changes."},
		"the last few":      {"commit", "1\n2\n3\n\n4\n5\n6\n", "2; 3; 4; 5; 6"},
		"coloured":          {"commit", "\x1b[1;31mred\x1b[0m\a \x1b[2Kline\n", "red line"},
		"progress":          {"commit", "10%\r50%\r\ndone\r\n", "50%; done"},
		"long":              {"commit", strings.Repeat("é", 300), strings.Repeat("é", hookLineRunes) + "…"},
		"of git alone":      {"merge", "error: this\nfatal: that\n", "error: this; fatal: that"},
		"without any hooks": {"fetch", "ssh: words\nfatal: no\n", "fatal: no"},
		"nothing":           {"commit", "", ""},
	} {
		if got := (&GitError{Args: []string{c.command}, Stderr: c.stderr}).complaint(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMergeTellsWhyAHookRefused wants the hook's own words in the message.
func TestMergeTellsWhyAHookRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hook string
		by   workspace.Strategy
	}{
		{"prepare-commit-msg", workspace.StrategyRebase},
		{"pre-rebase", workspace.StrategyRebase},
		{"pre-commit", workspace.StrategySquash},
		{"pre-merge-commit", workspace.StrategyMerge},
		{"commit-msg", workspace.StrategyMerge},
	} {
		t.Run(c.hook+" "+string(c.by), func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			ahead(l)
			l.hook(c.hook, "echo FIRST; echo LINT-REASON >&2; exit 1")
			e := l.refuseLoosely(workspace.ErrGitFailed, by(c.by))
			if !strings.Contains(e.Message, "git says: FIRST; LINT-REASON") && !strings.Contains(e.Message, "git says: LINT-REASON") {
				t.Errorf("the message is %q", e.Message)
			}
			for _, advice := range []string{"use 'git commit'", "hint:", "git commit --amend"} {
				if strings.Contains(e.Message, advice) {
					t.Errorf("the message advises %q: %s", advice, e.Message)
				}
			}
		})
	}
}
