package gitops

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

func TestMerged(t *testing.T) {
	t.Parallel()
	// Each runs in the main checkout, on main, with the branch x checked out
	// in $ROOT/x. "own N" commits N commits to x, "on FILE TEXT" one to main.
	const setup = `own() { for i in $(seq $1); do echo "line $i" >>"$ROOT/x/g"; git -C "$ROOT/x" add g; git -C "$ROOT/x" commit -qm "own $i"; done; }
on() { echo "$2" >"$1"; git add "$1"; git commit -qm "main $1"; }
`
	tests := []struct {
		name, script string
		want         bool
	}{
		{"no commits of its own", `true`, true},
		{"no commits of its own, base ahead", `on h 1`, true},
		{"unmerged", `own 2`, false},
		{"unmerged, base ahead", `own 2; on h 1`, false},
		{"fast-forwarded", `own 1; git merge -q x`, true},
		{"merged by a merge commit", `own 2; on h 1; git merge -q --no-edit x`, true},
		{"merged, then more commits", `own 1; git merge -q x; own 1; on h 1`, false},
		{"squashed", `own 2; git merge -q --squash x >/dev/null; git commit -qm squash`, true},
		{"squashed onto another commit", `own 2; on h 1; git merge -q --squash x >/dev/null; git commit -qm squash`, true},
		{"squashed, then the lines changed", `own 2; git merge -q --squash x >/dev/null; git commit -qm squash; on g changed`, true},
		{"squashed, then reverted", `own 2; git merge -q --squash x >/dev/null; git commit -qm squash; git revert --no-edit HEAD >/dev/null`, true},
		{"squashed, then more commits", `own 2; git merge -q --squash x >/dev/null; git commit -qm squash; own 1`, false},
		{"squashed, then more commits and the lines changed", `own 2; git merge -q --squash x >/dev/null; git commit -qm squash; on g changed; own 1`, false},
		{"squashed with the base's neighbours changed", `seq 20 >f; git commit -qam long; git -C "$ROOT/x" reset -q --hard main
sed -i s/^10$/ten/ "$ROOT/x/f"; git -C "$ROOT/x" commit -qam ten; sed -i s/^8$/eight/ f; git commit -qam eight
sed -i s/^10$/ten/ f; git commit -qam squash`, true},
		{"rebased", `own 2; on h 1; git cherry-pick x~1 x >/dev/null`, true},
		{"rebased, then the lines changed", `own 2; on h 1; git cherry-pick x~1 x >/dev/null; on g changed`, true},
		{"half of it picked, then the lines changed", `own 2; on h 1; git cherry-pick x~1 >/dev/null; on g changed`, false},
		{"squashed after the base was merged in", `own 1; on h 1; git -C "$ROOT/x" merge -q --no-edit main; own 1
git merge -q --squash x >/dev/null; git commit -qm squash; on g changed`, true},
		{"picked, but for what a merge commit did", `own 1; on h 1; git -C "$ROOT/x" merge -q --no-commit main; echo evil >"$ROOT/x/evil"
git -C "$ROOT/x" add evil; git -C "$ROOT/x" commit -qm evil; git cherry-pick x~1 >/dev/null; on g changed`, false},
		{"a commit without a change", `git -C "$ROOT/x" commit -q --allow-empty -m note; on h 1`, false},
		{"a change and its revert", `own 1; git -C "$ROOT/x" revert --no-edit HEAD >/dev/null; on h 1`, false},
		{"a binary file, squashed, then changed", `printf 'a\000b' >"$ROOT/x/bin"; git -C "$ROOT/x" add bin; git -C "$ROOT/x" commit -qm bin
cp "$ROOT/x/bin" .; git add bin; git commit -qm squash; printf 'c\000d' >bin; git commit -qam later`, true},
		{"another binary file of that name", `printf 'a\000b' >"$ROOT/x/bin"; git -C "$ROOT/x" add bin; git -C "$ROOT/x" commit -qm bin
printf 'c\000d' >bin; git add bin; git commit -qm squash`, false},
		{"other white space", `own 1; echo "line  1" >g; git add g; git commit -qm spaces`, false},
		{"a file's mode, squashed, then changed", `chmod +x "$ROOT/x/f"; git -C "$ROOT/x" commit -qam mode; chmod +x f; git commit -qam squash; chmod -x f; git commit -qam back`, true},
		{"an odd name, squashed, then changed", `printf 1 >"$ROOT/x/$(printf 'a\nb"c')"; git -C "$ROOT/x" add .; git -C "$ROOT/x" commit -qm odd
git merge -q --squash x >/dev/null; git commit -qm squash; git rm -q a*; git commit -qm gone`, true},
		{"a name that is a pattern", `printf 1 >"$ROOT/x/*"; git -C "$ROOT/x" add .; git -C "$ROOT/x" commit -qm odd
git merge -q --squash x >/dev/null; git commit -qm squash; printf 2 >'*'; git commit -qam later`, true},
		{"a driver that drops the branch's side", `git config merge.mine.driver true; echo 'g merge=mine' >.gitattributes; echo base >g
git add .; git commit -qm attributes; git -C "$ROOT/x" reset -q --hard main; own 1; on g other`, false},
		{"the same in info/attributes", `git config merge.mine.driver true; echo 'g merge=mine' >.git/info/attributes; echo base >g
git add .; git commit -qm g; git -C "$ROOT/x" reset -q --hard main; own 1; on g other`, false},
		{"a driver for everything", `git config merge.mine.driver true; git config merge.default mine; echo base >g
git add .; git commit -qm g; git -C "$ROOT/x" reset -q --hard main; own 1; on g other`, false},
		{"no common history", `git -C "$ROOT/x" checkout -q --orphan y; git -C "$ROOT/x" commit -qm orphan; git -C "$ROOT/x" branch -qM x; on h 1`, false},
		{"diff options of the user's", `git config diff.noprefix true; git config diff.external false; git config color.ui always; git config diff.context 0
own 2; git merge -q --squash x >/dev/null; git commit -qm squash; on g changed`, true},
		{"its file deleted on both sides, after a squash", `git -C "$ROOT/x" rm -q f; git -C "$ROOT/x" commit -qm gone; git rm -q f; git commit -qm gone; on f back`, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.worktree("x")
			f.sh(setup + test.script)
			before := snapshot(t, f.path("repo/.git"))
			s := f.state(f.list()["x"], "main")
			if s.Merged == nil || *s.Merged != test.want || len(s.Unknown) > 0 {
				t.Errorf("merged %v, want %v; unknown %q", s.Merged, test.want, s.Unknown)
			}
			wantSame(t, f.path("repo/.git"), before)
			// A second time, from what is remembered.
			if again := f.state(f.list()["x"], "main"); again.Merged == nil || *again.Merged != test.want {
				t.Errorf("merged %v the second time, want %v", again.Merged, test.want)
			}
		})
	}
}

func TestMergedIsNotGuessed(t *testing.T) {
	t.Parallel()
	t.Run("in a partial clone", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.worktree("x")
		f.commit(f.path("x"), "g", "1", "own")
		f.commit(f.dir, "h", "1", "main")
		f.git("config", "remote.origin.url", f.path("nowhere"))
		f.git("config", "remote.origin.promisor", "true")
		s := f.state(f.list()["x"], "main")
		if s.Merged != nil || *s.Ahead != 1 || *s.Behind != 1 || !strings.Contains(strings.Join(s.Unknown, ""), "partial clone") {
			t.Errorf("state %+v", s)
		}
	})
	t.Run("far behind", func(t *testing.T) {
		t.Parallel()
		f := newRepo(t)
		f.worktree("x")
		f.commit(f.path("x"), "g", "1", "own")
		f.sh(fmt.Sprintf(`{ for i in $(seq %d); do
printf 'commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 2\nn\n'
[ $i = 1 ] && printf 'from refs/heads/main^0\n'
done; } | git fast-import --quiet`, maxSearched+1))
		w := f.list()["x"]
		s := f.state(w, "main")
		if s.Merged != nil || *s.Ahead != 1 || *s.Behind != maxSearched+1 || !strings.Contains(strings.Join(s.Unknown, ""), "looked through") {
			t.Errorf("state %+v", s)
		}
	})
}

func TestRelationHeedsReplacedCommits(t *testing.T) {
	t.Parallel()
	for _, pack := range []bool{false, true} {
		f := newRepo(t)
		wt := f.worktree("x")
		for i := range 3 {
			f.commit(wt, "g", fmt.Sprint(i), "own")
		}
		if s := f.state(f.list()["x"], "main"); *s.Ahead != 3 || *s.Behind != 0 || *s.Merged {
			t.Errorf("state %+v", s)
		}
		f.git("replace", "--graft", "x", "main")
		if pack {
			f.git("pack-refs", "--all", "--prune")
		}
		f.r.relations = relationCache{}
		if s := f.state(f.list()["x"], "main"); *s.Ahead != 1 {
			t.Errorf("replaced, packed %v: ahead %d, want 1", pack, *s.Ahead)
		}
	}
}

func TestPatchScanner(t *testing.T) {
	t.Parallel()
	const (
		a = "1111111111111111111111111111111111111111"
		b = "2222222222222222222222222222222222222222"
	)
	record := func(id, at, file, line string) string {
		return fmt.Sprintf("%s\ndiff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n@@ -%s +%s @@ func x\n context\n+%s\n", id, file, file, id, id, file, file, at, at, line)
	}
	scan := func(text string, pieces int) []patch {
		var s patchScanner
		for len(text) > 0 {
			n := min(pieces, len(text))
			if _, err := s.Write([]byte(text[:n])); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		return s.finish()
	}
	text := record(a, "1,2", "x", "new") + record(b, "7,9", "x", "new") + a + "\n" + record(b, "1,2", "y z", "new") + record(a, "1,2", "x", "new ")
	var first []patch
	for _, pieces := range []int{1 << 20, 1, 7, 100} {
		got := scan(text, pieces)
		if len(got) != 5 {
			t.Fatalf("%d patches in pieces of %d, want 5: %+v", len(got), pieces, got)
		}
		if first == nil {
			first = got
		}
		for i := range got {
			if got[i] != first[i] {
				t.Errorf("patch %d in pieces of %d is %+v, else %+v", i, pieces, got[i], first[i])
			}
		}
	}
	if first[0].id != first[1].id {
		t.Error("the place of a hunk counts")
	}
	if !first[2].empty || first[0].empty {
		t.Error("empty and full are mistaken")
	}
	if first[3].id == first[0].id || first[4].id == first[0].id {
		t.Error("the path or white space doesn't count")
	}
	if first[3].path != "y z" || first[0].path != "x" {
		t.Errorf("paths %q, %q", first[3].path, first[0].path)
	}
}

func TestParseRaw(t *testing.T) {
	t.Parallel()
	const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	got, err := parseRaw([]byte(":100644 100755 " + one + " " + two + " M\x00a b\nc\x00:000000 160000 " + one + " " + two + " A\x00sm\x00"))
	want := map[string]edit{
		"a b\nc": {version{"100644", one}, version{"100755", two}},
		"sm":     {version{"000000", one}, version{"160000", two}},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"x", "x\x00", ":1 2 3 4 M\x00", ":1 2 3 4 M\x00path", ":1 2 3 4\x00path\x00"} {
		if got, err := parseRaw([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}

func TestRelationsAreBounded(t *testing.T) {
	t.Parallel()
	var c relationCache
	for i := range maxMemo*2 + 1 {
		c.put(relationKey{commitPair: commitPair{head: fmt.Sprint(i)}}, relation{ahead: i})
		if len(c.known) > maxMemo {
			t.Fatalf("%d are kept", len(c.known))
		}
	}
	if rel, ok := c.get(relationKey{commitPair: commitPair{head: fmt.Sprint(maxMemo * 2)}}); !ok || rel.ahead != maxMemo*2 {
		t.Errorf("the last one is %+v, %v", rel, ok)
	}
	if _, ok := c.get(relationKey{commitPair: commitPair{head: "none"}}); ok {
		t.Error("one that was never put")
	}
}
