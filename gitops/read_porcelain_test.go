package gitops

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	oneID  = "1111111111111111111111111111111111111111"
	wideID = "2222222222222222222222222222222222222222222222222222222222222222"
)

func TestParseStatus(t *testing.T) {
	t.Parallel()
	files := " 100644 100644 100644 " + oneID + " " + oneID + " "
	tests := []struct {
		name, out string
		want      statusReport
	}{
		{"nothing", "", statusReport{}},
		{"clean", "# branch.oid " + oneID + "\x00# branch.head main\x00# branch.upstream origin/main\x00# branch.ab +? -?\x00", statusReport{oid: oneID}},
		{"SHA-256", "# branch.oid " + wideID + "\x00", statusReport{oid: wideID}},
		{"no commit", "# branch.oid (initial)\x00# branch.head main\x00", statusReport{}},
		{"a header of another version", "# stash 3\x00# what ever\x00", statusReport{}},
		{"staged", "1 M. N..." + files + "a\x00", statusReport{changes: []change{{path: "a", staged: true}}}},
		{"modified", "1 .M N..." + files + "a b\x00", statusReport{changes: []change{{path: "a b", modified: true}}}},
		{"both", "1 AM N..." + files + "a\nb\x00", statusReport{changes: []change{{path: "a\nb", staged: true, modified: true}}}},
		{"a submodule", "1 .M S.MU" + files + "sm\x00", statusReport{changes: []change{{path: "sm", modified: true, submodule: "S.MU"}}}},
		{
			"a rename", "2 R. N..." + files + "R100 new\x00old\x00? x\x00",
			statusReport{changes: []change{{path: "new", from: "old", staged: true}, {path: "x", untracked: true}}},
		},
		{
			"conflicted", "u UU N... 100644 100644 100644 100644 " + oneID + " " + oneID + " " + oneID + " c d\x00",
			statusReport{changes: []change{{path: "c d", conflicted: true}}},
		},
		{"untracked and ignored", "? u/\x00! i.o\x00", statusReport{changes: []change{{path: "u/", untracked: true}, {path: "i.o", ignored: true}}}},
		{"a path like a header", "? # branch.oid x\x00", statusReport{changes: []change{{path: "# branch.oid x", untracked: true}}}},
	}
	for _, test := range tests {
		got, err := parseStatus([]byte(test.out))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(statusReport{}, change{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestParseStatusRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, out := range []string{
		"? cut off", "x y\x00", "\x00", "?\x00", "? \x00", "1 M. N... 100644\x00", "1 M N... 1 2 3 4 5 path\x00", "1 MM N.. 1 2 3 4 5 path\x00",
		"2 R. N... 1 2 3 4 5 R100 new\x00old", "u UU\x00", "##\x00",
	} {
		if got, err := parseStatus([]byte(out)); err == nil {
			t.Errorf("%q is read as %+v", out, got)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	r := statusReport{changes: []change{
		{staged: true}, {staged: true, modified: true}, {modified: true}, {conflicted: true}, {untracked: true}, {ignored: true},
	}}
	if got, want := r.counts(), (counts{changed: 4, staged: 2, modified: 2, conflicted: 1, untracked: 1}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func FuzzParseStatus(f *testing.F) {
	files := " 100644 100644 100644 " + oneID + " " + oneID + " "
	f.Add([]byte("# branch.oid " + oneID + "\x00# branch.head (detached)\x001 .M S.MU" + files + "sm\x00? u/\x00"))
	f.Add([]byte("2 R. N..." + files + "R100 new\x00old\x00"))
	f.Add([]byte("u UU N... 100644 100644 100644 100644 " + oneID + " " + oneID + " " + oneID + " c\x00"))
	f.Add([]byte("! x\x00\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		r, err := parseStatus(out)
		n := r.counts()
		if n.changed > len(r.changes) || n.staged+n.modified+n.conflicted < n.changed {
			t.Errorf("counts %+v of %d changes", n, len(r.changes))
		}
		for _, c := range r.changes {
			if c.path == "" || strings.ContainsRune(c.path, 0) || !bytes.Contains(out, []byte(c.path)) {
				t.Errorf("path %q", c.path)
			}
			if !r.has(c.path) {
				t.Errorf("%q is not found again", c.path)
			}
		}
		if r.oid != "" && !isObjectID(r.oid) {
			t.Errorf("object id %q", r.oid)
		}
		if err == nil && len(out) > 0 && out[len(out)-1] != 0 {
			t.Error("an output that is cut off is taken")
		}
	})
}

func TestParseFlags(t *testing.T) {
	t.Parallel()
	got := parseFlags([]byte("H a\x00h b c\x00S d\x00s e\nf\x00M g\x00"))
	if !slices.Equal(got.assumed, []string{"b c", "e\nf"}) || !slices.Equal(got.skipped, []string{"d", "e\nf"}) {
		t.Errorf("flags %+v", got)
	}
}

// TestScanIndex compares what the scanner finds in indexes that git has
// written with what git says of them.
func TestScanIndex(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, script string
		ok           bool
	}{
		{"version 2", `git update-index --index-version 2; git update-index --assume-unchanged d/11 d/2`, true},
		{"version 3", `git update-index --index-version 3; git update-index --assume-unchanged d/11; git update-index --skip-worktree d/2 d/11 z`, true},
		{"version 4", `git update-index --index-version 4; git update-index --assume-unchanged d/11 f; git update-index --skip-worktree d/2 z`, true},
		{"nothing hidden", `true`, true},
		{"conflicts", `git switch -qc o; echo o >f; git commit -qam o; git switch -q main; echo m >f; git commit -qam m; ! git merge -q o; git update-index --assume-unchanged z`, true},
		{"extensions", `git update-index --untracked-cache; git status >/dev/null; git update-index --skip-worktree z`, true},
		{"long names", `for n in 4094 4095 4096 5000; do p=$(printf "%0${n}d" 0)
git update-index --add --cacheinfo "100644,$(git rev-parse HEAD:f),$p"; git update-index --assume-unchanged "$p"; done`, true},
		{"a split index", `git update-index --split-index; git update-index --assume-unchanged z`, false},
		{"a sparse index", `git sparse-checkout set --cone --sparse-index e`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh(`mkdir d e; for i in $(seq 12); do echo $i >d/$i; done; echo z >z; echo e >e/e; git add .; git commit -qm files; ` + test.script)
			got, ok := scanIndex([]byte(f.read(f.path("repo/.git/index"))))
			if ok != test.ok {
				t.Fatalf("understood: %v, want %v", ok, test.ok)
			}
			if !ok {
				return
			}
			out, err := f.r.git.run(t.Context(), command{dir: f.dir, args: []string{"ls-files", "-v", "-z"}})
			if err != nil {
				t.Fatal(err)
			}
			want := parseFlags(out)
			if !slices.Equal(got.assumed, want.assumed) || !slices.Equal(got.skipped, want.skipped) {
				t.Errorf("flags %+v, git has %+v", got, want)
			}
			if test.name != "nothing hidden" && len(want.assumed)+len(want.skipped) == 0 {
				t.Error("the script hid nothing")
			}
		})
	}
}

func FuzzScanIndex(f *testing.F) {
	index := func(version, count uint32, entry string) []byte {
		b := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
		b = binary.BigEndian.AppendUint32(b, count)
		return append(append(b, entry...), make([]byte, indexIDLength)...)
	}
	stat := strings.Repeat("\x00", indexStat+indexIDLength)
	f.Add(index(2, 1, stat+"\x80\x01a"+strings.Repeat("\x00", 1)))
	f.Add(index(3, 1, stat+"\x40\x03\x40\x00abc\x00\x00\x00\x00\x00"))
	f.Add(index(4, 2, stat+"\x80\x01\x00ab\x00"+stat+"\x80\x01\x01c\x00"))
	f.Add(index(2, 1<<31, ""))
	f.Add(index(2, 0, "TREE\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		flags, ok := scanIndex(data)
		if !bytes.Equal(before, data) {
			t.Error("the index was changed")
		}
		if !ok {
			return
		}
		entries := int(binary.BigEndian.Uint32(data[8:]))
		if len(flags.assumed) > entries || len(flags.skipped) > entries {
			t.Errorf("%d and %d hidden of %d entries", len(flags.assumed), len(flags.skipped), entries)
		}
	})
}
