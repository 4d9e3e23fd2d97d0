//go:build unix

package opencode

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

// guard is given a grace in seconds, a mark, and a program with its arguments,
// which it starts and waits for. The pipe at its descriptor 3 ends when it is
// closed by the process that holds the other side, or with that process,
// however that goes. Then all that was started is asked to end, and killed
// after the grace. That is the process group, and what has left the group, as
// the commands of an agent do, but was born with the mark in its environment;
// the latter is found where there is a /proc. Of a program that ends by itself
// nothing that it has started remains either: it is looked for twice, for a
// process that is just being born has no environment yet.
const guard = `grace=$1 mark=$2
shift 2
orphan=
trap : TERM INT HUP
trap orphan=1 USR1
marked() {
	for file in $(grep -laF -e "$mark=1" /proc/[0-9]*/environ 2>/dev/null); do
		pid=${file#/proc/}
		kill "-$1" "${pid%/environ}" 2>/dev/null
	done
}
env "$mark=1" "$@" </dev/null 3<&- &
child=$!
{
	trap '' TERM INT HUP
	cat
	kill -USR1 $$
	kill -TERM 0
	marked TERM
	sleep "$grace"
	marked KILL
	kill -KILL 0
} <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
marked KILL
sleep 0.2
marked KILL
[ -z "$orphan" ] || kill -KILL 0
kill -KILL "$watcher" 2>/dev/null
exit "$status"`

// process is a server that runs, in a process group of its own.
type process struct {
	cmd *exec.Cmd
	// lifeline is held open for as long as the server is to live.
	lifeline *os.File
	tail     *tail
	// ended is closed when it has ended, for the reason err.
	ended chan struct{}
	err   error
}

// spawn starts a program that doesn't outlive this process.
// grace is how long stop waits before it kills.
func spawn(program string, args, env []string, output io.Writer, grace time.Duration) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &process{lifeline: w, tail: newTail(output), ended: make(chan struct{})}
	mark := "THREADTREE_OPENCODE_" + rand.Text()
	seconds := strconv.Itoa(max(1, int(grace.Round(time.Second)/time.Second)))
	p.cmd = exec.Command("/bin/sh", append([]string{"-c", guard, "threadtree-opencode", seconds, mark, program}, args...)...)
	// A call that names no directory is about this one.
	p.cmd.Dir, p.cmd.Env, p.cmd.ExtraFiles = "/", env, []*os.File{r}
	p.cmd.Stdout, p.cmd.Stderr = p.tail, p.tail
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("%s can't be started: %w", program, err)
	}
	go func() {
		if p.err = p.cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
		close(p.ended)
	}()
	return p, nil
}

// stop has the guard end all that was started, and waits for that.
func (p *process) stop() {
	p.lifeline.Close()
	<-p.ended
	// What the guard itself has started, if that is still there.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

// writeWhole writes a file that is there as a whole or not at all.
func writeWhole(path string, content []byte) error { return renameio.WriteFile(path, content, 0o600) }
