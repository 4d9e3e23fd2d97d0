package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// overlaps compares workspaces, and sees to it that nothing changes by it.
func (f *fixture) overlaps(workspaces ...workspace.Workspace) []workspace.Overlap {
	f.t.Helper()
	p := f.open(f.dir)
	before := f.withoutTouches()
	found, err := f.reviewer().Overlap(f.t.Context(), p, workspaces)
	if err != nil {
		f.t.Fatal(detail(err))
	}
	if diff := cmp.Diff(before, f.withoutTouches()); diff != "" {
		f.t.Errorf("it changed (-before +after):\n%s", diff)
	}
	return found
}

// withoutTouches is a snapshot without the times of objects: git notes so that
// one is in use which it would have written.
func (f *fixture) withoutTouches() map[string]string {
	files := snapshot(f.t, f.root)
	for path, line := range files {
		if fields := strings.Fields(line); strings.Contains(path, "/objects/") {
			files[path] = strings.Join(append(fields[:1], fields[2:]...), " ")
		}
	}
	return files
}

// overlapSetup makes workspaces a and b of a repository with some files.
const overlapSetup = `seq 30 >f; seq 30 >g; printf '1\000' >bin; echo run >script; ln -s f link; mkdir dir; seq 30 >dir/x; git add .; git commit -qm files
git worktree add -q -b a "$ROOT/a"; git worktree add -q -b b "$ROOT/b"
`

// overlapShell has ca, cb and cm commit all that is in a, in b and in main.
const overlapShell = `A="$ROOT/a"; B="$ROOT/b"
ca() { git -C "$A" add -A; git -C "$A" commit -qm a; }
cb() { git -C "$B" add -A; git -C "$B" commit -qm b; }
cm() { git add -A; git commit -qm main; }
`

func TestOverlapOfTwo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		// files are nil where the two don't overlap.
		files    []string
		conflict bool
	}{
		{"nothing", `true`, nil, false},
		{"other files", `echo 1 >$A/f; ca; echo 1 >$B/g; cb; echo 1 >$A/new; echo 1 >$B/new2`, nil, false},
		{"one line", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, true},
		{"other lines", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^25$/b/ $B/f; cb`, []string{"f"}, false},
		{"the same change", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/a/ $B/f; cb`, []string{"f"}, false},
		{"committed and not", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"staged and not", `sed -i s/^5$/a/ $A/f; git -C $A add f; sed -i s/^25$/b/ $B/f`, []string{"f"}, false},
		{"staged, then changed back", `sed -i s/^5$/a/ $A/f; git -C $A add f; seq 30 >$A/f; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, false},
		{"untracked, another content", `echo a >$A/new; echo b >$B/new`, []string{"new"}, true},
		{"untracked, the same content", `echo a >$A/new; echo a >$B/new`, []string{"new"}, false},
		{"untracked and committed", `echo a >$A/new; echo b >$B/new; cb`, []string{"new"}, true},
		{"ignored", `echo new >.git/info/exclude; echo a >$A/new; echo b >$B/new`, nil, false},
		{"changed and deleted", `sed -i s/^5$/a/ $A/f; ca; rm $B/f`, []string{"f"}, true},
		{"deleted twice", `rm $A/f; ca; rm $B/f`, []string{"f"}, false},
		{"renamed and changed elsewhere", `git -C $A mv f moved; ca; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, false},
		{"renamed with a change, and changed there", `git -C $A mv f moved; sed -i s/^5$/a/ $A/moved; ca; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, true},
		{"renamed by hand with a change, and changed there", `mv $A/f $A/moved; sed -i s/^5$/a/ $A/moved; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"renamed to two names", `git -C $A mv f one; ca; git -C $B mv f two; cb`, []string{"f"}, true},
		{"a file and a directory", `echo a >$A/new; mkdir $B/new; echo b >$B/new/x`, []string{"new", "new/x"}, true},
		{"a directory made a file", `rm -r $A/dir; echo a >$A/dir; ca; sed -i s/^5$/b/ $B/dir/x; cb`, []string{"dir", "dir/x"}, true},
		{"binary", `printf '2\000' >$A/bin; ca; printf '3\000' >$B/bin; cb`, []string{"bin"}, true},
		{"modes", `chmod +x $A/script; ca; echo more >>$B/script; cb`, []string{"script"}, false},
		{"links", `ln -sf g $A/link; ca; ln -sf bin $B/link`, []string{"link"}, true},
		{"odd names", `n=$(printf 'a\tb\n"c" \303\274'); echo a >"$A/$n"; ca; echo b >"$B/$n"`, []string{"a\tb\n\"c\" ü"}, true},
		{"attributes of the base", `echo 'f merge=union' >.gitattributes; cm; git -C $A reset -q --hard main; git -C $B reset -q --hard main
sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, false},
		{"line ends", `git config core.autocrlf true; sed -i 's/$/\r/; s/^5/a/' $A/f; sed -i 's/$/\r/; s/^25/b/' $B/f`, []string{"f"}, false},
		{"the base went on", `sed -i s/^5$/a/ $A/f; ca; seq 3 >new; cm; git -C $B reset -q --hard main; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, true},
		{"a conflict with the base alone", `sed -i s/^5$/a/ $A/g; echo 1 >>$A/f; ca; sed -i s/^5$/main/ g; cm; git -C $B reset -q --hard main; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, false},
		{"a conflict that comes with the base", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^25$/main/ f; cm; git -C $B reset -q --hard main; sed -i s/^15$/b/ $B/f; cb`, []string{"f"}, false},
		{"both behind", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f; cb; seq 3 >new; cm`, []string{"f"}, true},
		{"one on top of the other", `sed -i s/^5$/a/ $A/f; ca; git -C $B reset -q --hard a; sed -i s/^a$/b/ $B/f; cb`, []string{"f"}, false},
		{"the same, behind", `sed -i s/^5$/a/ $A/f; ca; git -C $B reset -q --hard a; sed -i s/^a$/b/ $B/f; cb; seq 3 >new; cm`, []string{"f"}, false},
		{"detached", `git -C $A checkout -q --detach; sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"no common history", `git -C $A checkout -q --orphan o; echo a >$A/f; ca; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"nothing committed", `git -C $A checkout -q --orphan o; sed -i s/^5$/a/ $A/f; sed -i s/^5$/b/ $B/f; cb`, []string{"f"}, true},
		{"the base is gone", `git checkout -q -b else; git branch -D main; sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"in the middle of a conflict", `sed -i s/^5$/a/ $A/f; ca; sed -i s/^5$/main/ f; cm; ! git -C $A merge -q main 2>/dev/null >&2; sed -i s/^25$/b/ $B/f; cb`, []string{"f"}, false},
		{"assumed unchanged", `git -C $A update-index --assume-unchanged f; sed -i s/^5$/a/ $A/f; sed -i s/^5$/b/ $B/f`, nil, false},
		{"announced", `echo a >$A/new; git -C $A add -N new; echo b >$B/new`, []string{"new"}, true},
		{"without an index", `rm .git/worktrees/a/index; sed -i s/^5$/a/ $A/f; sed -i s/^5$/b/ $B/f`, []string{"f"}, true},
		{"a repository within", `for w in $A $B; do git init -q $w/nested; done; echo a >$A/nested/x; echo b >$B/nested/x`, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh(overlapSetup)
			a, b := f.row("a", "main"), f.row("b", "main")
			f.sh(overlapShell + test.script)
			var want []workspace.Overlap
			if test.files != nil {
				want = []workspace.Overlap{{Threads: []string{"thread-a", "thread-b"}, Files: test.files, Conflict: test.conflict}}
			}
			if test.name == "without an index" || test.name == "nothing committed" || test.name == "no common history" {
				// Every file counts, as deleted or as new.
				got := f.overlaps(b, a)
				if len(got) != 1 || got[0].Conflict != test.conflict || !slices.Contains(got[0].Files, "f") {
					t.Errorf("%+v", got)
				}
				return
			}
			if diff := cmp.Diff(want, f.overlaps(b, a)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOverlapOfMany(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`seq 30 >f; seq 30 >g; git add .; git commit -qm files`)
	var rows []workspace.Workspace
	for i := range 5 {
		name := fmt.Sprintf("w%d", i)
		f.worktree(name)
		rows = append(rows, f.row(name, "main"))
	}
	f.sh(`cd "$ROOT"; for i in 0 1 2; do sed -i s/^5$/$i/ w$i/f; done; sed -i s/^25$/3/ w3/f; sed -i s/^9$/3/ w3/g; sed -i s/^9$/4/ w4/g
git -C w1 commit -qam 1; git -C w3 commit -qam 3`)
	pair := func(a, b int, file string, conflict bool) workspace.Overlap {
		return workspace.Overlap{Threads: []string{fmt.Sprintf("thread-w%d", a), fmt.Sprintf("thread-w%d", b)}, Files: []string{file}, Conflict: conflict}
	}
	want := []workspace.Overlap{
		pair(0, 1, "f", true), pair(0, 2, "f", true), pair(0, 3, "f", false), pair(1, 2, "f", true),
		pair(1, 3, "f", false), pair(2, 3, "f", false), pair(3, 4, "g", true),
	}
	if diff := cmp.Diff(want, f.overlaps(rows...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Without one, and with one that is gone.
	if err := os.RemoveAll(f.path("w1")); err != nil {
		t.Fatal(err)
	}
	want = []workspace.Overlap{pair(0, 2, "f", true), pair(0, 3, "f", false), pair(2, 3, "f", false)}
	if diff := cmp.Diff(want, f.overlaps(rows[:4]...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := f.overlaps(rows[0]); got != nil {
		t.Errorf("of one: %+v", got)
	}
	if got := f.overlaps(); got != nil {
		t.Errorf("of none: %+v", got)
	}
}

func TestOverlapOfDifferentBases(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(overlapSetup + overlapShell + `git branch dev; sed -i s/^5$/a/ $A/f; ca; git -C $B reset -q --hard dev; sed -i s/^5$/b/ $B/f; cb`)
	want := []workspace.Overlap{{Threads: []string{"thread-a", "thread-b"}, Files: []string{"f"}, Conflict: true}}
	if diff := cmp.Diff(want, f.overlaps(f.row("a", "main"), f.row("b", "dev"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOverlapOfSubmodules(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("clone", "-q", f.dir, f.path("lib"))
	f.git("submodule", "--quiet", "add", f.path("lib"), "lib")
	f.git("commit", "-qm", "lib")
	for _, name := range []string{"a", "b"} {
		f.worktree(name)
		f.gitIn(f.path(name), "submodule", "--quiet", "update", "--init")
		f.write(f.path(name, "lib", "build"), name)
	}
	if got := f.overlaps(f.row("a", "main"), f.row("b", "main")); got != nil {
		t.Errorf("untracked in both: %+v", got)
	}
	f.commit(f.path("a/lib"), "g", "a", "a")
	f.commit(f.path("b/lib"), "g", "b", "b")
	want := []workspace.Overlap{{Threads: []string{"thread-a", "thread-b"}, Files: []string{"lib"}, Conflict: true}}
	if diff := cmp.Diff(want, f.overlaps(f.row("a", "main"), f.row("b", "main"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOverlapWithADriver has git merge by a program, which must work neither
// in the repository nor in a workspace.
func TestOverlapWithADriver(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`echo 'f merge=own' >.gitattributes; git add .; git commit -qm attributes; git config merge.own.driver 'pwd >>"$TMPDIR/where"; exit 0'
git worktree add -q -b a "$ROOT/a"; git worktree add -q -b b "$ROOT/b"; echo a >"$ROOT/a/f"; echo b >"$ROOT/b/f"`)
	temporary := t.TempDir()
	var err error
	if f.r, err = New(Options{Home: f.path("home"), Env: append(f.env, "TMPDIR="+temporary)}); err != nil {
		t.Fatal(err)
	}
	want := []workspace.Overlap{{Threads: []string{"thread-a", "thread-b"}, Files: []string{"f"}}}
	if diff := cmp.Diff(want, f.overlaps(f.row("a", "main"), f.row("b", "main"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if where := f.read(filepath.Join(temporary, "where")); where == "" || within(where, f.root) {
		t.Errorf("the driver ran in %q", where)
	}
}

func TestOverlapRefusals(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(overlapSetup + overlapShell + `echo a >$A/f; echo b >$B/f`)
	a, b := f.row("a", "gone"), f.row("b", "main")
	a.BaseCommit = ""
	_, err := f.reviewer().Overlap(t.Context(), f.open(f.dir), []workspace.Workspace{a, b})
	wantCode(t, err, workspace.ErrTargetNotFound)
}

func TestParseTried(t *testing.T) {
	t.Parallel()
	const id = "1111111111111111111111111111111111111111"
	got, err := parseTried([]byte("1\x00" + id + "\x00\x000\x00" + id + "\x00a\nb\x00c\x00\x000\x00" + id + "\x00\x00"))
	want := []tried{{clean: true, tree: id}, {tree: id, files: []string{"a\nb", "c"}}, {tree: id}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tried{})); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
	for _, bad := range []string{"1", "2\x00" + id + "\x00\x00", "1\x00x\x00\x00", "1\x00" + id, "1\x00" + id + "\x00", "1\x00" + id + "\x00a\x00", "\x00"} {
		if got, err := parseTried([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzParseTried(f *testing.F) {
	const id = "1111111111111111111111111111111111111111"
	f.Add([]byte("1\x00" + id + "\x00\x00"))
	f.Add([]byte("0\x00" + id + "\x00a\x00b\x00\x001\x00" + id + "\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		results, err := parseTried(out)
		if err != nil {
			return
		}
		var again []byte
		for _, r := range results {
			status := "0"
			if r.clean {
				status = "1"
			}
			again = append(again, status+"\x00"+r.tree+"\x00"...)
			for _, file := range r.files {
				again = append(again, file+"\x00"...)
			}
			again = append(again, 0)
		}
		if string(again) != string(out) {
			t.Errorf("%q is read as %+v", out, results)
		}
	})
}

func TestOverlapNeedsANewerGit(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(overlapSetup + overlapShell + `echo a >$A/f; echo b >$B/f`)
	f.script("../old/git", `case "$*" in *merge-tree*) exit 129;; esac; exec git "$@"`)
	var err error
	if f.r, err = New(Options{Home: f.path("home"), Env: f.env, Git: f.path("old/git")}); err != nil {
		t.Fatal(err)
	}
	rows := []workspace.Workspace{f.row("a", "main"), f.row("b", "main")}
	_, err = f.reviewer().Overlap(t.Context(), f.open(f.dir), rows)
	wantCode(t, err, workspace.ErrGitFailed)
	// Without files in common nothing is merged.
	f.sh(`rm "$ROOT/b/f"; git -C "$ROOT/b" checkout -q f`)
	if got := f.overlaps(rows...); got != nil {
		t.Errorf("%+v", got)
	}
}
