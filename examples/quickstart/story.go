package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// story prints what is done, and what is on disk after it.
type story struct {
	out     io.Writer
	dir     string
	project string
	steps   int
}

// newStory makes an empty project directory in dir.
func newStory(out io.Writer, dir string) (*story, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	s := &story{out: out, dir: dir, project: filepath.Join(dir, "project")}
	return s, os.Mkdir(s.project, 0o755)
}

func (s *story) step(title string) {
	s.steps++
	fmt.Fprintf(s.out, "\n%d. %s\n", s.steps, title)
}

func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.out, "   "+format+"\n", args...)
}

// write puts a line into a file and says so.
func (s *story) write(dir, file, line string) error {
	s.say("%s: %s", file, line)
	return os.WriteFile(filepath.Join(dir, file), []byte(line+"\n"), 0o644)
}

// git prints a git command and runs it in dir.
func (s *story) git(dir string, args ...string) error {
	shown := "git"
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = fmt.Sprintf("%q", arg)
		}
		shown += " " + arg
	}
	s.say("$ %s", shown)
	if out, err := s.run(dir, args...); err != nil {
		return fmt.Errorf("%s: %w\n%s", shown, err, out)
	}
	return nil
}

// onDisk prints the worktrees and the branches that there are.
func (s *story) onDisk() error {
	worktrees, err := s.run(s.project, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	branches, err := s.run(s.project, "for-each-ref", "--format=%(refname:short) (%(subject))", "refs/heads")
	if err != nil {
		return err
	}
	for line := range strings.Lines(worktrees) {
		if path, ok := strings.CutPrefix(line, "worktree "); ok {
			s.say("| worktree  %s", s.short(strings.TrimSpace(path)))
		}
	}
	for branch := range strings.Lines(branches) {
		s.say("| branch    %s", strings.TrimSpace(branch))
	}
	return nil
}

// run runs git, which knows no settings but ours.
func (s *story) run(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// short leaves the scratch directory out of a text.
func (s *story) short(text string) string {
	return strings.ReplaceAll(text, s.dir+string(filepath.Separator), "")
}
