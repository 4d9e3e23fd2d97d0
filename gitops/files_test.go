package gitops

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestCheckoutTellsItsFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 300 {
		l.write(filepath.Join(l.dir, "d", fmt.Sprint(i)), "x\n")
	}
	l.run(l.dir, "add", ".")
	l.run(l.dir, "commit", "-q", "-m", "files")
	l.made(titled("one"))
	var last workspace.Event
	for _, e := range l.events {
		if e.Phase == workspace.PhaseCheckout && e.Done < last.Done {
			t.Errorf("%d after %d", e.Done, last.Done)
		}
		if e.Phase == workspace.PhaseCheckout {
			last = e
		}
	}
	if last.Done != 301 || last.Total != 301 {
		t.Errorf("the last was %d of %d", last.Done, last.Total)
	}
}

func TestProgressIsToldFromTimeToTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var told []string
	p := &fileProgress{
		what: "x", now: func() time.Time { now = now.Add(progressEvery / 4); return now },
		tell: func(e workspace.Event) { told = append(told, fmt.Sprintf("%d/%d", e.Done, e.Total)) },
	}
	for i := range 10 {
		// In pieces, and among other things that git says.
		for _, part := range []string{"Updating fi", fmt.Sprintf("les:  %d%% (%d/9", i, i), ")\rwarning: x\n"} {
			if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
	}
	if got := strings.Join(told, " "); got != "0/9 4/9 8/9 9/9" {
		t.Errorf("told %s", got)
	}
	for _, line := range []string{"", "Updating files:", "Updating files: (1/0)", "Updating files: (a/2)", "Updating files: (2/", "Filtering content: 1% (1/2)"} {
		if _, _, ok := parseProgress([]byte(line)); ok {
			t.Errorf("%q was taken for progress", line)
		}
	}
}
