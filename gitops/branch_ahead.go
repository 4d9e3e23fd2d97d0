package gitops

import (
	"bufio"
	"context"
	"errors"
	"os"
	"sync"
)

// branchMaker is a "git update-ref" that waits for the branch to make: to start
// it takes longer than to make the branch, and can be done while something else
// has to be waited for. It holds what its maker's children hold, but for the
// repository's lock, which isn't taken yet: what outlives a killed maker makes
// this one branch at that moment or none.
type branchMaker struct {
	// start is the commit that the branch begins at.
	start string
	in    *os.File
	out   *bufio.Reader
	used  bool
	// started is closed once the process runs, or can't.
	started <-chan struct{}
	// giveUp ends the process.
	giveUp func()
	ended  func() error
}

// branchAhead starts the making of the branch, where one will be made here.
func (m *making) branchAhead(ctx context.Context, c *chooser) {
	start := c.start()
	if c.local != "" || start == "" || m.p.o.Pool == nil && !m.set.writable(m.r.openRefs(m.req.Project.ID)) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	started := make(chan struct{})
	in, out, ended, err := m.r.git.converse(ctx, command{
		dir: workDir(m.req.Project), write: true, args: []string{"update-ref", "-m", branchReason + start, "--stdin", "-z"},
		config: m.set.hooksOff(m.req.Setup), inherit: m.req.Inherit,
		started: started,
	})
	if err != nil {
		cancel()
		return // it is made without
	}
	m.branch = &branchMaker{start: start, started: started, in: in, out: bufio.NewReader(out), giveUp: cancel, ended: sync.OnceValue(func() error {
		err := <-ended
		cancel()
		_, _ = in.Close(), out.Close()
		return err
	})}
}

// awaitBranch waits until what was started runs: until then it holds all that
// this process has open, and would pass for it if that were killed.
func (m *making) awaitBranch(ctx context.Context) {
	if m.branch == nil {
		return
	}
	select {
	case <-m.branch.started:
	case <-ctx.Done():
	}
}

// make makes the branch, which must not be there.
func (b *branchMaker) make(ref string) error {
	b.used = true
	_, err := b.in.WriteString("start\x00create " + ref + "\x00" + b.start + "\x00commit\x00")
	for line := ""; err == nil && line != "commit: ok\n"; {
		line, err = b.out.ReadString('\n')
	}
	if err == nil {
		return nil
	}
	b.done()
	return errors.Join(b.ended(), err)
}

// done lets the process end. Where it has made nothing it is not told so, for it
// would run the hooks for that.
func (b *branchMaker) done() {
	if b.used {
		_ = b.in.Close()
	} else {
		b.giveUp()
	}
}

// branchDone lets what was started end, which is waited for at the end of the
// create.
func (m *making) branchDone() {
	if m.branch != nil {
		m.branch.done()
	}
}

func (m *making) endBranch() {
	if m.branch != nil {
		m.branch.done()
		_ = m.branch.ended()
	}
}
