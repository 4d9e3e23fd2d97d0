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

// shell prints a command line, runs it in dir and says what is on disk then.
func (s *story) shell(dir, line string) error {
	s.say("$ %s", line)
	if out, err := s.run(dir, "sh", "-c", line); err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return s.onDisk()
}

// onDisk prints the worktrees and the branches that there are.
func (s *story) onDisk() error {
	worktrees, err := s.run(s.project, "git", "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	branches, err := s.run(s.project, "git", "for-each-ref", "--format=%(refname:short) (%(subject))", "refs/heads")
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

// run runs a program with a git that knows no settings but ours.
func (s *story) run(dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
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
