package sqlite

import (
	"os"
	"path/filepath"
	"strings"
)

// gitHas reports whether directory is the top of a linked worktree that its
// repository knows: its .git file names the entry, and the entry names it.
func gitHas(_, directory, _ string) bool {
	link := filepath.Join(directory, ".git")
	text, err := os.ReadFile(link)
	if err != nil {
		return false
	}
	entry, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok {
		return false
	}
	if !filepath.IsAbs(entry) {
		entry = filepath.Join(directory, entry)
	}
	text, err = os.ReadFile(filepath.Join(entry, "gitdir"))
	if err != nil {
		return false
	}
	back := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(back) {
		back = filepath.Join(entry, back)
	}
	there, err := os.Stat(back)
	if err != nil {
		return false
	}
	here, err := os.Stat(link)
	return err == nil && os.SameFile(here, there)
}
