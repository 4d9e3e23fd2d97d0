//go:build unix

package opencode

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// guard starts its arguments and waits for them. It ends them, and all that
// they have started, when the pipe at its descriptor 3 ends: which it does
// with the process that holds the other side, however that goes.
const guard = `trap : TERM INT HUP
"$@" </dev/null 3<&- &
child=$!
{ trap '' TERM INT HUP; cat; kill -TERM 0; sleep 5; kill -KILL 0; } <&3 >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
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
func spawn(program string, args, env []string, output io.Writer) (*process, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	p := &process{lifeline: w, tail: &tail{next: output}, ended: make(chan struct{})}
	p.cmd = exec.Command("/bin/sh", append([]string{"-c", guard, "threadtree-opencode", program}, args...)...)
	p.cmd.Env, p.cmd.ExtraFiles = env, []*os.File{r}
	p.cmd.Stdout, p.cmd.Stderr = p.tail, p.tail
	p.cmd.WaitDelay = time.Second
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("%s can't be started: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the process group: asked first, killed after a while.
func (p *process) stop(wait time.Duration) {
	group := -p.cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(wait):
	}
	_ = syscall.Kill(group, syscall.SIGKILL)
	<-p.ended
	p.lifeline.Close()
}

// lastWords are the last lines that the server printed.
func (p *process) lastWords() string { return p.tail.String() }

// tail hands on what is written and keeps the end of it.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	kept []byte
}

// tailSize is how much is kept, in bytes.
const tailSize = 2000

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	t.mu.Unlock()
	_, _ = t.next.Write(b)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "")
	if text == "" {
		return "it printed nothing"
	}
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}
