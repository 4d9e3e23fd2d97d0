package opencode

import (
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// lastWords are the last lines that the server printed.
func (p *process) lastWords() string { return p.tail.String() }

// tail hands on what is written and keeps the end of it.
type tail struct {
	next io.Writer
	mu   sync.Mutex
	kept []byte
	// line is the one that isn't ended yet.
	line []byte
	// ready is closed once the program has said that it listens, on port.
	ready chan struct{}
	port  int
}

// tailSize is how much is kept, in bytes.
const tailSize = 2000

func newTail(next io.Writer) *tail { return &tail{next: next, ready: make(chan struct{})} }

// readyLine is what a server prints once it listens. The host is as it was
// given, and may be no part of a valid address.
var readyLine = regexp.MustCompile(`opencode server listening on \S+:(\d+)\s*$`)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	t.kept = append(t.kept, b...)
	t.kept = t.kept[max(0, len(t.kept)-tailSize):]
	t.look(b)
	t.mu.Unlock()
	_, _ = t.next.Write(b)
	return len(b), nil
}

// look looks for the line that says that the server listens.
func (t *tail) look(b []byte) {
	if t.port != 0 {
		return
	}
	t.line = append(t.line, b...)
	for text := range strings.Lines(string(t.line)) {
		found := readyLine.FindStringSubmatch(text)
		if found == nil || !strings.HasSuffix(text, "\n") {
			continue
		}
		t.port, _ = strconv.Atoi(found[1])
		close(t.ready)
		t.line = nil
		return
	}
	// A line may come in pieces; one that is too long is none of interest.
	if end := strings.LastIndexByte(string(t.line), '\n'); end >= 0 {
		t.line = t.line[end+1:]
	}
	t.line = t.line[max(0, len(t.line)-tailSize):]
}

// listens is the port on which the program said that it listens.
func (t *tail) listens() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.port
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
