package gitops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestParseTreeChanges(t *testing.T) {
	t.Parallel()
	const a, b = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for name, test := range map[string]struct {
		out  string
		want []treeChange
		bad  bool
	}{
		"nothing": {},
		"all kinds": {
			out: ":100644 100755 " + a + " " + b + " M\x00x y\x00:000000 120000 " + a + " " + b + " A\x00l\n\t\x00:160000 000000 " + a + " " + b + " D\x00sub/m\x00",
			want: []treeChange{
				{path: "x y", oldMode: 0o100644, newMode: 0o100755, oldID: a, newID: b},
				{path: "l\n\t", newMode: 0o120000, oldID: a, newID: b},
				{path: "sub/m", oldMode: modeSubmodule, oldID: a, newID: b},
			},
		},
		"cut short":     {out: ":100644 100755 " + a + " " + b + " M\x00x", bad: true},
		"without path":  {out: ":100644 100755 " + a + " " + b + " M\x00\x00", bad: true},
		"no mode":       {out: ":10064x 100755 " + a + " " + b + " M\x00x\x00", bad: true},
		"no new mode":   {out: ":100644 8 " + a + " " + b + " M\x00x\x00", bad: true},
		"a renamed one": {out: ":100644 100755 " + a + " " + b + " M\x00x\x00y\x00", bad: true},
		"of two":        {out: "::100644 100644 100755 " + a + " " + b + " MM\x00x\x00", bad: true},
	} {
		got, err := parseTreeChanges([]byte(test.out))
		if (err != nil) != test.bad {
			t.Errorf("%s: error %v", name, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(treeChange{})); !test.bad && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzParseTreeChanges(f *testing.F) {
	f.Add([]byte(":100644 100755 1111 2222 M\x00x\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		changes, err := parseTreeChanges(out)
		if err != nil {
			return
		}
		if n := bytes.Count(out, []byte{0}); n != 2*len(changes) {
			t.Errorf("%d changes of %d parts", len(changes), n)
		}
		for _, c := range changes {
			if c.path == "" || !bytes.Contains(out, []byte("\x00"+c.path+"\x00")) {
				t.Errorf("the path %q was made up", c.path)
			}
		}
	})
}

func TestFindIndexed(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	wanted := map[string]bool{"a.txt": true, "dir/b.txt": true, "dir": true, "new.txt": true, "f2d": true}
	want := map[string]bool{"a.txt": true, "dir/b.txt": true, "f2d": true}
	for _, version := range []string{"2", "4"} {
		x.git("update-index", "--index-version", version)
		got, ok := findIndexed([]byte(x.read(filepath.Join(x.gitDir, "index"))), wanted)
		if !ok || !cmp.Equal(got, want) {
			t.Errorf("version %s: %v, %v", version, got, ok)
		}
	}
	x.git("update-index", "--split-index")
	if _, ok := findIndexed([]byte(x.read(filepath.Join(x.gitDir, "index"))), wanted); ok {
		t.Error("a split index was read as a whole one")
	}
}

func TestSameBeginning(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20_000)
	for _, test := range []struct {
		part, whole string
		want        bool
	}{
		{"", "", true},
		{"", "x", true},
		{"x", "x", true},
		{"x", "", false},
		{"x", "yx", false},
		{long, long, true},
		{long[:1<<16], long, true},
		{long[:1<<16+1], long, true},
		{long, long[:1<<16], false},
		{long[:len(long)-1] + "x", long, false},
	} {
		dir := t.TempDir()
		part, whole := filepath.Join(dir, "part"), filepath.Join(dir, "whole")
		if err := errors.Join(os.WriteFile(part, []byte(test.part), 0o600), os.WriteFile(whole, []byte(test.whole), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got, err := sameBeginning(part, whole); err != nil || got != test.want {
			t.Errorf("%.20q of %d in %.20q of %d: %v, %v", test.part, len(test.part), test.whole, len(test.whole), got, err)
		}
	}
}

func TestJournal(t *testing.T) {
	t.Parallel()
	f := moveFiles(t.TempDir())
	if _, there, err := readMove(f); there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	want := journal{
		Version: journalVersion, Phase: phaseWriting, Ref: "refs/heads/main", Old: "o", New: "n", Nonce: "x",
		Index: fileMark{Kind: kindFile, Perm: 0o644, Size: 1 << 40, Time: 1<<62 + 1, Inode: 1<<63 + 1},
		Paths: []pathMark{{Path: []byte("l\xe9\n"), Mode: 0o100644, ID: "i", Was: fileMark{Kind: kindLink}}},
		Made:  [][]byte{[]byte("d\xff")},
	}
	if err := want.write(f); err != nil {
		t.Fatal(err)
	}
	got, there, err := readMove(f)
	if diff := cmp.Diff(want, got); diff != "" || !there || err != nil {
		t.Errorf("%v, %v: %s", there, err, diff)
	}
	for _, content := range []string{"", "{", `{"version":99}`} {
		if err := os.WriteFile(f.journal(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, there, err := readMove(f); !there || err == nil {
			t.Errorf("%q: %v, %v", content, there, err)
		}
	}
}

// TestAdvanceUnreadableJournal refuses to work over a journal that it doesn't
// understand.
func TestAdvanceUnreadableJournal(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	path := moveFiles(x.gitDir).journal()
	x.write(path, `{"version":99}`)
	_, err := x.recover()
	wantCode(t, err, workspace.ErrGitFailed)
	before := x.facts()
	for range 2 {
		_, err := x.advance()
		e := wantCode(t, err, workspace.ErrInProgress)
		if !strings.Contains(e.Hint, path) {
			t.Error(e.Hint)
		}
	}
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
}

// TestIndexLock takes and drops the lock of an index, with and without links.
func TestIndexLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "lock"), filepath.Join(dir, "temp")
	for _, create := range []func(content string) error{
		func(content string) error { return createWith(path, temp, content) },
		func(content string) error { return createThenWrite(path, content) },
	} {
		if err := create("one"); err != nil {
			t.Fatal(err)
		}
		if err := create("two"); !errors.Is(err, os.ErrExist) {
			t.Errorf("the lock was taken twice: %v", err)
		}
		if content, err := os.ReadFile(path); err != nil || string(content) != "one" {
			t.Errorf("%q, %v", content, err)
		}
		if exists(temp) {
			t.Error("a file is left")
		}
		m := &move{files: moveFiles(dir)}
		m.journal.Nonce = "two"
		if err := os.Rename(path, m.files.lock()); err != nil {
			t.Fatal(err)
		}
		if err := m.dropIndexLock(); err != nil || !exists(m.files.lock()) {
			t.Errorf("somebody else's lock was removed: %v", err)
		}
		m.journal.Nonce = "one"
		if err := m.dropIndexLock(); err != nil || exists(m.files.lock()) {
			t.Errorf("the lock is left: %v", err)
		}
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	o := newOverlap([]treeChange{{path: "a/b/c", newMode: 1, newID: "x"}, {path: "gone"}})
	for path, want := range map[string]bool{
		"a/b/c": true, "a": true, "a/b": true, "a/b/": true, "a/b/c/d": true, "gone": true,
		"a/b/d": false, "ab": false, "a/b/cc": false, "b": false,
	} {
		if o.with(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	index := map[string]string{"a/b/c": "x", "other": ""}
	if !o.agrees("a/b/c", index) || !o.agrees("gone", index) || o.agrees("other", index) {
		t.Error("agrees")
	}
	if got := parents("a/b/c"); !slices.Equal(got, []string{"a", "a/b"}) {
		t.Errorf("%q", got)
	}
}
