package gitops

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func (f *fixture) branches(q workspace.BranchQuery) []string {
	f.t.Helper()
	names, err := f.reviewer().Branches(f.t.Context(), f.open(f.dir), q)
	if err != nil {
		f.t.Fatal(err)
	}
	return names
}

// dated commits at a time, in seconds of 2023, on a branch that is made for it.
func (f *fixture) dated(branch string, second int) string {
	f.t.Helper()
	tree := f.git("rev-parse", "HEAD^{tree}")
	at := fmt.Sprintf("GIT_COMMITTER_DATE=%d +0000", 1700000000+second)
	cmd := exec.Command("git", "commit-tree", tree, "-p", "HEAD", "-m", branch)
	cmd.Dir, cmd.Env = f.dir, append(f.env, at)
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatal(err)
	}
	sha := strings.TrimSpace(string(out))
	f.git("update-ref", "refs/heads/"+branch, sha)
	return sha
}

// branchesRepo has local branches, those of two remotes, and pointers.
func branchesRepo(t *testing.T) *fixture {
	f := newRepo(t)
	f.git("remote", "add", "origin", f.path("origin.git"))
	f.git("remote", "add", "team/fork", f.path("fork.git"))
	same := f.dated("same", 10)
	f.git("update-ref", "refs/remotes/origin/same", same)
	f.git("update-ref", "refs/remotes/team/fork/same", same)
	f.dated("moved", 30)
	f.git("update-ref", "refs/remotes/origin/moved", f.dated("tmp", 40))
	f.git("update-ref", "refs/remotes/team/fork/only/There", f.dated("tmp", 50))
	f.git("update-ref", "-d", "refs/heads/tmp")
	f.dated("Feature/ÜBER", 20)
	f.dated("threadtree/old", 1)
	f.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/moved")
	f.git("symbolic-ref", "refs/remotes/team/fork/HEAD", "refs/remotes/team/fork/only/There")
	f.git("symbolic-ref", "refs/heads/alias", "refs/heads/moved")
	f.git("tag", "v1")
	return f
}

func TestBranches(t *testing.T) {
	t.Parallel()
	f := branchesRepo(t)
	tests := []struct {
		name string
		q    workspace.BranchQuery
		want []string
	}{
		{"all", workspace.BranchQuery{}, []string{
			"main", "team/fork/only/There", "origin/moved", "alias", "moved", "Feature/ÜBER", "same", "threadtree/old",
		}},
		{"local", workspace.BranchQuery{Local: true}, []string{"main", "alias", "moved", "Feature/ÜBER", "same", "threadtree/old"}},
		{"limit", workspace.BranchQuery{Limit: 3}, []string{"main", "team/fork/only/There", "origin/moved"}},
		{"more than there are", workspace.BranchQuery{Limit: 3000, Text: "only"}, []string{"team/fork/only/There"}},
		{"case", workspace.BranchQuery{Text: "oNLY/tH"}, []string{"team/fork/only/There"}},
		{"case of other scripts", workspace.BranchQuery{Text: "über"}, []string{"Feature/ÜBER"}},
		{"a remote's name", workspace.BranchQuery{Text: "ORIGIN/"}, []string{"origin/moved", "origin/same"}},
		{"a remote's name, local", workspace.BranchQuery{Text: "origin/", Local: true}, nil},
		{"pointers", workspace.BranchQuery{Text: "HEAD"}, nil},
		{"patterns", workspace.BranchQuery{Text: "*"}, nil},
		{"nothing", workspace.BranchQuery{Text: "refs/heads"}, nil},
	}
	for _, packed := range []bool{false, true} {
		if packed {
			f.git("pack-refs", "--all")
			f.dated("after", 60)
			for i := range tests {
				if at := slices.Index(tests[i].want, "main"); at >= 0 {
					tests[i].want = slices.Insert(tests[i].want, 1, "after")
				}
			}
			tests[2].want = tests[2].want[:3]
		}
		before := snapshot(t, f.root)
		for _, test := range tests {
			if diff := cmp.Diff(test.want, f.branches(test.q)); diff != "" {
				t.Errorf("%s, packed %v (-want +got):\n%s", test.name, packed, diff)
			}
		}
		wantSame(t, f.root, before)
	}
}

// TestBranchesAsGit compares with git's own order.
func TestBranchesAsGit(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	for i := range 60 {
		f.dated(fmt.Sprintf("t%d/b%02d", i%3, i), i*7%10)
	}
	f.sh(`for b in $(git for-each-ref --format='%(refname:short)' refs/heads/t1); do git update-ref refs/remotes/origin/$b $b~; done`)
	want := strings.Fields(f.git("for-each-ref", "--sort=-committerdate", "--format=%(refname:short)", "refs/heads", "refs/remotes"))
	if diff := cmp.Diff(want, f.branches(workspace.BranchQuery{})); diff != "" {
		t.Errorf("-git +ours:\n%s", diff)
	}
}

func TestBranchesOfARemoteCalledLikeABranch(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	sha := f.dated("gone/x", 5)
	f.git("update-ref", "refs/remotes/gone/x", "main")
	f.git("update-ref", "refs/remotes/gone/y/HEAD", sha)
	f.git("update-ref", "refs/remotes/gone/HEAD", sha) // as old versions wrote it
	want := []string{"main", "gone/x", "gone/y/HEAD"}
	if diff := cmp.Diff(want, f.branches(workspace.BranchQuery{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBranchesSurviveDamage(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.dated("whole", 1)
	f.write(f.path("repo/.git/refs/heads/garbage"), "no id at all\n")
	f.write(f.path("repo/.git/refs/heads/empty"), "")
	f.write(f.path("repo/.git/refs/heads/zero"), strings.Repeat("0", 40)+"\n")
	f.write(f.path("repo/.git/refs/heads/lost"), strings.Repeat("1", 40)+"\n")
	f.write(f.path("repo/.git/refs/heads/main.lock"), "")
	f.git("symbolic-ref", "refs/heads/nowhere", "refs/heads/none")
	if diff := cmp.Diff([]string{"main", "whole", "lost"}, f.branches(workspace.BranchQuery{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBranchesWithoutGoGit(t *testing.T) {
	t.Parallel()
	f := newEmptyRepo(t, "--object-format=sha256")
	if names := f.branches(workspace.BranchQuery{}); len(names) != 0 {
		t.Errorf("branches %q of an empty repository", names)
	}
	f.commit(f.dir, "f", "base\n", "init")
	same := f.dated("same", 10)
	f.git("update-ref", "refs/remotes/origin/same", same)
	f.git("update-ref", "refs/remotes/origin/other", f.dated("x", 5))
	f.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/other")
	if diff := cmp.Diff([]string{"main", "same", "x", "origin/other"}, f.branches(workspace.BranchQuery{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBranchesThatCantBeRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("the superuser reads everything")
	}
	f := newRepo(t)
	if err := os.Chmod(f.path("repo/.git/refs/heads"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(f.path("repo/.git/refs/heads"), 0o755) }()
	p := workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir}
	_, err := f.reviewer().Branches(t.Context(), p, workspace.BranchQuery{})
	wantCode(t, err, workspace.ErrPermissionDenied)
}

// BenchmarkBranches compares with git's own sorted list:
//
//	go test ./gitops -run '^$' -bench Branches -benchtime 20x
func BenchmarkBranches(b *testing.B) {
	for _, packed := range []bool{false, true} {
		f := newRepo(b)
		f.manyBranches(1500, 500)
		if packed {
			f.git("pack-refs", "--all")
		}
		p, v := f.open(f.dir), f.reviewer()
		for _, text := range []string{"", "topic-77"} {
			b.Run(fmt.Sprintf("packed=%v/text=%s", packed, text), func(b *testing.B) {
				against(b, func() {
					f.git("for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads", "refs/remotes")
				}, func() {
					names, err := v.Branches(b.Context(), p, workspace.BranchQuery{Text: text, Limit: 25})
					if err != nil || len(names) == 0 {
						b.Fatal(names, err)
					}
				})
			})
		}
	}
}

// manyBranches makes branches, each with a commit of its own.
func (f *fixture) manyBranches(local, remote int) {
	f.t.Helper()
	var stream strings.Builder
	for i := range local + remote {
		ref := fmt.Sprintf("refs/heads/team%d/topic-%d", i%20, i)
		if i >= local {
			ref = fmt.Sprintf("refs/remotes/origin/team%d/topic-%d", i%20, i-local)
		}
		fmt.Fprintf(&stream, "commit %s\ncommitter Ada <ada@example.org> %d +0000\ndata 1\nx\nfrom refs/heads/main^0\n\n", ref, 1600000000+i*7919%100000)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = f.dir, f.env, strings.NewReader(stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("fast-import: %v\n%s", err, out)
	}
}
