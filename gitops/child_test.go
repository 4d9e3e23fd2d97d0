package gitops

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// childRole names what the test program does where it is started as a child
// of a test: some things about processes can only be seen from another one.
const childRole = "THREADTREE_TEST_CHILD"

var childRoles = map[string]func(args []string) error{
	"lock-attempt": childLockAttempt,
	"wait":         childWait,
	"count":        childCount,
	"hold-repo":    childHoldRepo,
	"session":      childSession,
	"claim":        childClaim,
	"fill":         childFill,
}

func init() {
	role := os.Getenv(childRole)
	if role == "" {
		return
	}
	if err := childRoles[role](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childCommand(role string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}

// child is a child process that has said its first line.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	said string
	out  *bufio.Reader
}

// startChild starts a role and waits for its first line. The child is killed
// when the test ends.
func startChild(t *testing.T, cmd *exec.Cmd) *child {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, out: bufio.NewReader(stdout)}
	t.Cleanup(func() {
		_ = stdin.Close()
		c.kill()
	})
	line, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v", err)
	}
	c.said = strings.TrimSpace(line)
	return c
}

// kill ends the child as a crash would.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// childWait says that it is there and waits for its standard input to end.
func childWait([]string) error {
	fmt.Println("here")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// childLockAttempt locks an attempt, starts a child that inherits the lock,
// says the child's process id and waits. The child outlives it.
func childLockAttempt(args []string) error {
	locks, err := NewAttemptLocks(args[0], "host")
	if err != nil {
		return err
	}
	lock, err := locks.Lock(context.Background(), args[1])
	if err != nil {
		return err
	}
	cmd := orphan(lock.Inherit())
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	return childWait(nil)
}

// orphan is a program that keeps the files open and outlives its parent.
func orphan(files []*os.File) *exec.Cmd {
	cmd := exec.Command("sleep", "120")
	cmd.ExtraFiles = files
	return cmd
}

// childCount increments a counter in a file under the repository's lock, from
// two goroutines at once, and fails where it isn't alone.
func childCount(args []string) error {
	commonDir := args[0]
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var locks repoLocks
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for range n {
				if errs[i] = countOnce(&locks, commonDir); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func countOnce(locks *repoLocks, commonDir string) error {
	lock, err := locks.acquire(context.Background(), commonDir)
	if err != nil {
		return err
	}
	defer lock.release()
	alone := filepath.Join(commonDir, "alone")
	f, err := os.OpenFile(alone, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	counter := filepath.Join(commonDir, "counter")
	content, err := os.ReadFile(counter)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(string(content))
	if err != nil {
		return err
	}
	if err := os.WriteFile(counter, []byte(strconv.Itoa(count+1)), 0o600); err != nil {
		return err
	}
	return os.Remove(alone)
}

// childHoldRepo takes the repository's lock, and with "inherit" has a child
// that outlives it, whose process id it says.
func childHoldRepo(args []string) error {
	var locks repoLocks
	lock, err := locks.acquire(context.Background(), args[0])
	if err != nil {
		return err
	}
	if args[1] != "inherit" {
		return childWait(nil)
	}
	cmd := orphan(lock.inherit())
	if err := cmd.Start(); err != nil {
		return err
	}
	fmt.Println(cmd.Process.Pid)
	return childWait(nil)
}

// childSession says whether it leads a session of its own.
func childSession([]string) error {
	session, err := unix.Getsid(0)
	fmt.Println(session == os.Getpid(), syscall.Getpgrp() == os.Getpid())
	return err
}
