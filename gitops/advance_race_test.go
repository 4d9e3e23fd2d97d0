package gitops

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// onTop makes a commit of n files of its own on top of another, away from any
// checkout.
func (x *target) onTop(tip string, round, n int) string {
	x.t.Helper()
	var stream strings.Builder
	fmt.Fprintf(&stream, "commit refs/composed/%[1]d\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata <<.\nmerge %[1]d\n.\nfrom %[2]s\n", round, tip)
	for i := range n {
		fmt.Fprintf(&stream, "M 100644 inline r%d/f%d\ndata <<.\n%d\n.\n", round, i, round+i)
	}
	x.write(x.path("stream"), stream.String())
	x.sh(`git fast-import --quiet --force <"$ROOT/stream"`)
	return x.git("rev-parse", fmt.Sprintf("refs/composed/%d", round))
}

// TestAdvanceWhileSomebodyCommits moves main 60 times, by 50 files each, while
// somebody commits in its checkout all the time.
func TestAdvanceWhileSomebodyCommits(t *testing.T) {
	t.Parallel()
	const rounds, files, tries = 60, 50, 200
	x := newTarget(t, false, "", "")
	var (
		done  atomic.Bool
		group sync.WaitGroup
		mine  int
	)
	group.Go(func() {
		for !done.Load() {
			name := fmt.Sprintf("mine%d", mine)
			x.write(filepath.Join(x.wt, name), name+"\n")
			// Either may find the index locked, as any two gits at once do.
			if _, err := x.tryGit(x.wt, "add", name); err != nil {
				continue
			}
			if _, err := x.tryGit(x.wt, "commit", "-q", "-m", name, "--", name); err == nil {
				mine++
			}
			// A person pauses: else nobody else ever gets a turn.
			time.Sleep(rand.N(150 * time.Millisecond))
		}
	})
	again := 0
	for round := range rounds {
		for try := 1; ; try++ {
			x.was = x.git("rev-parse", "main")
			x.next = x.onTop(x.was, round, files)
			_, err := x.advance(func(in *advanceInput) { in.lockWait = 0 })
			if err == nil {
				break
			}
			again++
			if !errors.Is(err, workspace.ErrNotFastForward) && !errors.Is(err, workspace.ErrLocked) || try == tries {
				t.Error(detail(err))
				break
			}
		}
		if t.Failed() {
			break
		}
	}
	done.Store(true)
	group.Wait()
	t.Logf("%d commits of somebody's, %d moves tried again", mine, again)
	if mine == 0 {
		t.Error("nobody committed anything")
	}
	if got := x.gitIn(x.wt, "status", "--porcelain"); got != "" && got != fmt.Sprintf("A  mine%d", mine) && got != fmt.Sprintf("?? mine%d", mine) {
		t.Errorf("status:\n%s", got)
	}
	x.wantHistory(rounds, files, mine)
}

// wantHistory wants each commit to be there and to have its own files alone.
func (x *target) wantHistory(rounds, files, mine int) {
	x.t.Helper()
	seen := make(map[string]int)
	for _, block := range strings.Split(x.git("log", "--format=%x01%s", "--name-status", "main"), "\x01") {
		subject, rest, _ := strings.Cut(block, "\n")
		changes := strings.Fields(rest)
		seen[subject]++
		round, merged := strings.CutPrefix(subject, "merge ")
		for i := 0; i+1 < len(changes); i += 2 {
			own := changes[i+1] == subject || merged && strings.HasPrefix(changes[i+1], "r"+round+"/")
			if (merged || strings.HasPrefix(subject, "mine")) && (changes[i] != "A" || !own) {
				x.t.Errorf("%q has %s %s", subject, changes[i], changes[i+1])
			}
		}
		if merged && len(changes) != 2*files {
			x.t.Errorf("%q has %d files", subject, len(changes)/2)
		}
	}
	for round := range rounds {
		if n := seen[fmt.Sprintf("merge %d", round)]; n != 1 {
			x.t.Errorf("merge %d is there %d times", round, n)
		}
	}
	for i := range mine {
		if n := seen[fmt.Sprintf("mine%d", i)]; n != 1 {
			x.t.Errorf("mine%d is there %d times", i, n)
		}
	}
}
