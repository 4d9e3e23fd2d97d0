package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// historiesEnv is how many random histories are tried, and historyEnv the one
// seed that is.
const (
	historiesEnv = "THREADTREE_HISTORIES"
	historyEnv   = "THREADTREE_HISTORY"
)

// A random history becomes the same commits, or the same conflict at the same
// commit, as by git rebase.
func TestReplayIsRebase(t *testing.T) {
	t.Parallel()
	n := 150
	if testing.Short() {
		n = 30
	}
	if given, err := strconv.Atoi(os.Getenv(historiesEnv)); err == nil {
		n = given
	}
	if seed, err := strconv.ParseUint(os.Getenv(historyEnv), 10, 64); err == nil {
		compareWithRebase(t, seed)
		return
	}
	const chunks = 10
	var conflicts, clean [chunks]int
	t.Run("histories", func(t *testing.T) {
		for c := range chunks {
			t.Run(strconv.Itoa(c), func(t *testing.T) {
				t.Parallel()
				for seed := c; seed < n; seed += chunks {
					if compareWithRebase(t, uint64(seed)) {
						conflicts[c]++
					} else {
						clean[c]++
					}
				}
			})
		}
	})
	sum := func(counts [chunks]int) (n int) {
		for _, c := range counts {
			n += c
		}
		return n
	}
	t.Logf("%d clean, %d with a conflict", sum(clean), sum(conflicts))
	if n >= 100 && (sum(clean) < n/5 || sum(conflicts) < n/5) {
		t.Errorf("of %d histories %d were clean and %d had a conflict: that tries too little", n, sum(clean), sum(conflicts))
	}
}

func FuzzReplay(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed + 1000)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compareWithRebase(t, seed) })
}

// compareWithRebase reports whether there was a conflict.
func compareWithRebase(t *testing.T, seed uint64) (conflict bool) {
	t.Helper()
	f := newEmptyRepo(t)
	configure(f, seed)
	h := newHistory(seed)
	h.load(f)
	in := f.composeInput("main", "topic")
	got, err := f.r.compose(t.Context(), in)
	if err != nil {
		t.Fatalf("history %d: %s", seed, detail(err))
	}
	in.byGit = true
	slow, err := f.r.compose(t.Context(), in)
	if err != nil {
		t.Fatalf("history %d: %s", seed, detail(err))
	}
	compareReplayed(t, fmt.Sprintf("history %d, against git merge-tree", seed), f.result(slow), f.result(got))
	compareReplayed(t, fmt.Sprintf("history %d, against git rebase", seed), f.rebase(), f.result(got))
	return got.conflict != nil
}

// compareReplayed compares two results. Where git names no file of a conflict,
// as for a directory that was renamed to two, any will do.
func compareReplayed(t *testing.T, what string, want, got replayed) {
	t.Helper()
	if want.Conflict != "" && want.Files == nil {
		got.Files = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// mergeSettings are settings that change what comes of a merge.
var mergeSettings = []string{
	"", "", "[merge]\n\trenames = false\n", "[merge]\n\tdirectoryRenames = true\n", "[merge]\n\tdirectoryRenames = false\n",
	"[merge]\n\trenormalize = true\n", "[merge]\n\tdefault = union\n", "[diff]\n\talgorithm = patience\n", "[merge]\n\trenameLimit = 1\n",
}

// configure sets up the merge drivers that the histories name, and some other
// setting.
func configure(f *fixture, seed uint64) {
	config := "[merge \"keep\"]\n\tdriver = true\n[merge \"both\"]\n\tdriver = \"cat %B >>%A; test $(wc -l <%A) -lt 30\"\n"
	path := filepath.Join(f.dir, ".git", "config")
	f.write(path, f.read(path)+config+mergeSettings[seed%uint64(len(mergeSettings))])
}

// composeInput brings one branch to the other.
func (f *fixture) composeInput(onto, tip string) composeInput {
	f.t.Helper()
	ids := strings.Fields(f.git("rev-parse", onto, tip))
	return composeInput{
		project: f.open(f.dir), top: f.dir, onto: ids[0], tip: ids[1], branch: tip, target: onto,
		strategy: workspace.StrategyRebase,
	}
}

// replayed is what came of a rebase.
type replayed struct {
	// Conflict is the commit that didn't go, "" if all did, and Files are
	// those in conflict.
	Conflict string
	Files    []string
	// Commits are those that are new, oldest first, without what must differ.
	Commits []string
}

// result is what compose made.
func (f *fixture) result(c composed) replayed {
	f.t.Helper()
	if c.needsGit != "" {
		f.t.Fatal(c.needsGit)
	}
	if c.conflict != nil {
		return replayed{Conflict: c.conflict.commit.SHA, Files: c.conflict.files}
	}
	commits := f.commits(c.tip)
	if len(commits) != c.commits {
		f.t.Errorf("%d commits are said to be new and %d are", c.commits, len(commits))
	}
	return replayed{Commits: commits}
}

// rebase does it by git.
func (f *fixture) rebase() replayed {
	f.t.Helper()
	out, err := f.tryGit(f.dir, "rebase", "-q", "--no-rebase-merges", "main")
	if err == nil {
		return replayed{Commits: f.commits("HEAD")}
	}
	head, headErr := f.tryGit(f.dir, "rev-parse", "REBASE_HEAD")
	if headErr != nil {
		f.t.Fatalf("git rebase: %v\n%s", err, out)
	}
	result := replayed{Conflict: strings.TrimSpace(head)}
	for record := range strings.SplitSeq(f.git("ls-files", "-u", "-z"), "\x00") {
		if _, path, ok := strings.Cut(record, "\t"); ok {
			path, _, _ = strings.Cut(path, "~")
			result.Files = append(result.Files, path)
		}
	}
	slices.Sort(result.Files)
	result.Files = slices.Compact(result.Files)
	return result
}

// commits are the commits that main lacks, oldest first, as they are written,
// but for their parent and for when they were committed.
func (f *fixture) commits(tip string) []string {
	f.t.Helper()
	var all []string
	ids := strings.Fields(f.git("rev-list", "--reverse", "--topo-order", "main.."+tip))
	for _, raw := range f.raw(ids...) {
		header, message, _ := strings.Cut(raw, "\n\n")
		lines := slices.DeleteFunc(strings.Split(header, "\n"), func(l string) bool { return strings.HasPrefix(l, "parent ") })
		for i, l := range lines {
			if strings.HasPrefix(l, "committer ") {
				lines[i] = l[:strings.IndexByte(l, '>')+1]
			}
		}
		all = append(all, fmt.Sprintf("%s\n\n%q", strings.Join(lines, "\n"), message))
	}
	return all
}

// raw returns the contents of objects.
func (f *fixture) raw(ids ...string) []string {
	f.t.Helper()
	gitDir := f.git("rev-parse", "--absolute-git-dir")
	refs := f.r.openRefs(gitDir)
	contents, err := (&comparer{r: f.r, refs: refs}).blobs(f.t.Context(), ids...)
	if err != nil {
		f.t.Fatal(err)
	}
	var all []string
	for _, c := range contents {
		all = append(all, string(c))
	}
	return all
}
