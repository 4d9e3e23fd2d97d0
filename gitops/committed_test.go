package gitops

import "testing"

// TestStateOfCommitted tells a worktree in which a commit was made from one
// whose HEAD was only moved, and neither where nothing is known.
func TestStateOfCommitted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		want         *bool
	}{
		{"fresh", ``, new(false)},
		{"moved", `git reset -q --hard HEAD~1; git merge -q --ff-only main`, new(false)},
		{"committed", `git commit -q --allow-empty -m 'reset: no'`, new(true)},
		{"committed, and taken back", `git commit -q --allow-empty -m x; git reset -q --hard HEAD~1`, new(true)},
		{"cherry-picked", `git reset -q --hard HEAD~1; git commit -q --amend --allow-empty -m other; git cherry-pick --allow-empty main >/dev/null`, new(true)},
		{"without a log", `rm "$(git rev-parse --git-dir)/logs/HEAD"`, nil},
		{"with a log that was cut", `git reset -q --hard HEAD~1; l="$(git rev-parse --git-dir)/logs/HEAD"; tail -n 1 "$l" >"$l.new"; mv "$l.new" "$l"`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh(`git commit -q --allow-empty -m second`)
			f.worktree("wt")
			f.sh(`cd "$ROOT/wt"; ` + test.script)
			got := f.state(f.list()["wt"], "main").Committed
			if (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("committed is %v, want %v", got, test.want)
			}
		})
	}
}
