package gitops

import (
	"os"
	"path/filepath"
	"strings"
)

// committed reports whether a commit was ever made in a worktree, or brought
// home from it, by the log of its HEAD; nil where that has been cut short, or
// isn't kept. A HEAD that has moved is no proof: a pull moves it as well.
func committed(gitDir string) *bool {
	content, err := os.ReadFile(filepath.Join(gitDir, "logs", "HEAD"))
	if err != nil || len(content) == 0 {
		return nil
	}
	for line := range strings.Lines(string(content)) {
		_, message, _ := strings.Cut(line, "\t")
		for _, made := range []string{"commit", "cherry-pick", "revert", "am:", mergedAt} {
			if strings.HasPrefix(message, made) {
				return new(true)
			}
		}
	}
	if old, _, _ := strings.Cut(string(content), " "); strings.Trim(old, "0") != "" {
		return nil // what came before has expired
	}
	return new(false)
}
