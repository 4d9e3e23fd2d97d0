package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"reflect"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// tangle makes n commits with merges, picks, squashes, reverts and some dates
// out of order, and returns their ids. Some have branches, tags of both kinds
// and tracking refs.
func tangle(t *testing.T, f *fixture, n int, random *rand.Rand) []string {
	t.Helper()
	var stream bytes.Buffer
	files := make([]map[int]int, n+1)
	for i := 1; i <= n; i++ {
		parents := []int{}
		if i > 1 && random.IntN(25) > 0 {
			parents = append(parents, max(1, i-1-random.IntN(6)))
		}
		if len(parents) == 1 && random.IntN(6) == 0 {
			if other := max(1, i-1-random.IntN(12)); other != parents[0] {
				parents = append(parents, other)
			}
		}
		has := make(map[int]int)
		for _, p := range parents {
			for file, text := range files[p] {
				has[file] = text
			}
		}
		// Few files and texts, so that the same change is often made twice.
		for range random.IntN(3) {
			has[random.IntN(5)] = random.IntN(3)
		}
		files[i] = has
		date := 1_700_000_000 + 100*i
		if random.IntN(10) == 0 {
			date -= random.IntN(500)
		}
		fmt.Fprintf(&stream, "commit refs/heads/at-%d\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 1\nc\n", i, i, date)
		for k, p := range parents {
			fmt.Fprintf(&stream, "%s :%d\n", []string{"from", "merge"}[k], p)
		}
		stream.WriteString("deleteall\n")
		for file, text := range has {
			content := fmt.Sprintf("start\ntext %d\nend\n", text)
			fmt.Fprintf(&stream, "M 100644 inline f%d\ndata %d\n%s\n", file, len(content), content)
		}
	}
	for i := 1; i <= n; i++ {
		switch random.IntN(8) {
		case 0:
			fmt.Fprintf(&stream, "tag noted-%d\nfrom :%d\ntagger A <a@example.org> 1700000000 +0000\ndata 1\nt\n", i, i)
		case 1:
			fmt.Fprintf(&stream, "reset refs/tags/light-%d\nfrom :%d\n\n", i, i)
		case 2:
			fmt.Fprintf(&stream, "reset refs/remotes/origin/at-%d\nfrom :%d\n\n", i, i)
		}
	}
	cmd := exec.Command("git", "fast-import", "--quiet", "--export-marks="+f.path("marks"))
	cmd.Dir, cmd.Env, cmd.Stdin = f.dir, f.env, &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = f.git("rev-parse", fmt.Sprintf("at-%d", i+1))
	}
	// Most commits have no branch of their own.
	for i := range ids {
		if random.IntN(3) > 0 {
			f.git("update-ref", "-d", fmt.Sprintf("refs/heads/at-%d", i+1))
		}
	}
	return ids
}

// TestSurveyFindsWhatEachComparisonFinds compares commits of tangled histories
// together, and one by one.
func TestSurveyFindsWhatEachComparisonFinds(t *testing.T) {
	t.Parallel()
	wholly := 0
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 7))
		f := newEmptyRepo(t)
		ids := tangle(t, f, 40, random)
		f.git("update-ref", "refs/heads/main", ids[len(ids)-1])
		p := f.open(f.dir)
		survey, err := f.r.newComparer(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var queries []workspace.StateQuery
		for range 12 {
			i := random.IntN(len(ids))
			base := ids[len(ids)-1-random.IntN(10)]
			q := workspace.StateQuery{Base: base, Worktree: workspace.Worktree{Head: ids[i]}}
			if name := fmt.Sprintf("at-%d", i+1); random.IntN(2) == 0 && f.r.exists(t, p, name) {
				q.Own, q.Worktree.Branch = name, name
			}
			queries = append(queries, q)
		}
		survey.survey(t.Context(), queries)
		single, err := New(Options{Home: f.path("home2"), Env: f.env})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries {
			alone, err := single.newComparer(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			head := q.Worktree.Head
			got, ok := survey.known(commitPair{q.Base, head})
			if !ok {
				// More than one fork, or files to be merged: left to the other.
				if got, ok = survey.surveyed.counts[commitPair{q.Base, head}]; !ok {
					t.Errorf("seed %d: %s..%s was not surveyed", seed, q.Base, head)
				}
			} else {
				wholly++
			}
			want, err := alone.relation(t.Context(), q.Base, head)
			if err != nil {
				t.Fatal(err)
			}
			if got.merged == nil {
				want.merged = nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d: %s..%s: %+v, alone %+v", seed, q.Base, head, flat(got), flat(want))
			}
			n, err := alone.only(t.Context(), head, q.Worktree.Branch)
			if err != nil {
				t.Fatal(err)
			}
			if kept, ok := survey.surveyed.kept[keptKey{head, q.Worktree.Branch}]; !ok || kept != (n == 0) {
				t.Errorf("seed %d: %s kept beside %q: %v (%v), alone %d lost", seed, head, q.Worktree.Branch, kept, ok, n)
			}
		}
	}
	if wholly < 20 {
		t.Errorf("%d of 36 were known wholly", wholly)
	}
}

func flat(r relation) string {
	merged := "?"
	if r.merged != nil {
		merged = fmt.Sprint(*r.merged)
	}
	return fmt.Sprintf("%d ahead, %d behind, merged %s", r.ahead, r.behind, merged)
}

func (r *Repository) exists(t *testing.T, p workspace.Project, branch string) bool {
	t.Helper()
	sha, err := r.tip(t.Context(), p, localRefs+branch)
	if err != nil {
		t.Fatal(err)
	}
	return sha != ""
}

// TestAncestryIsBounded gives up where too much would have to be walked.
func TestAncestryIsBounded(t *testing.T) {
	t.Parallel()
	a := newAncestry([]commitPair{{base: fmt.Sprintf("%040x", 1), head: fmt.Sprintf("%040x", 2)}})
	for i := 3; ; i++ {
		err := a.add(fmt.Appendf(nil, "%040x %040x", i-1, i))
		if errors.Is(err, errTooMany) && i > maxWalked {
			break
		}
		if err != nil || i > 2*maxWalked {
			t.Fatal(i, err)
		}
	}
	if err := a.add([]byte("no commit")); err == nil {
		t.Error("a line that isn't one was taken")
	}
}
