package gitops

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestParseNumstat(t *testing.T) {
	t.Parallel()
	got, err := parseNumstat([]byte("1\t0\ta\tb\nc\x00-\t-\tbin\x003\t4\t\x00old\x00new\x000\t0\tmode\x00"))
	want := []workspace.FileChange{
		{Path: "a\tb\nc", Added: 1},
		{Path: "bin", Added: -1, Deleted: -1},
		{Path: "new", From: "old", Added: 3, Deleted: 4},
		{Path: "mode"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
	for _, bad := range []string{
		"x", "\x00", "1\t2\x00", "1\t2\ta", "a\t2\tb\x00", "1\t-2\tb\x00", "1\t2\t\x00", "1\t2\t\x00a\x00", "1\t2\t\x00\x00b\x00",
		"1\t2\t\x00a\x00\x00", "99999999999\t0\ta\x00",
	} {
		if got, err := parseNumstat([]byte(bad)); err == nil {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
}

func FuzzParseNumstat(f *testing.F) {
	for _, seed := range []string{"", "1\t0\ta\x00", "-\t-\tb\x00", "3\t4\t\x00old\x00new\x00", "1\t2\ta\tb\x000\t0\tc\nd\x00", "1\t2\t\x00\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		files, err := parseNumstat(out)
		if err != nil {
			return
		}
		// What was read, written again, is what was given.
		var again bytes.Buffer
		count := func(n int) string {
			if n < 0 {
				return "-"
			}
			return fmt.Sprint(n)
		}
		for _, c := range files {
			if c.Path == "" {
				t.Fatalf("a change without a path: %+v", c)
			}
			fmt.Fprintf(&again, "%s\t%s\t", count(c.Added), count(c.Deleted))
			if c.From != "" {
				again.WriteString("\x00" + c.From + "\x00")
			}
			again.WriteString(c.Path + "\x00")
		}
		if !leadingZeros(out) && !bytes.Equal(again.Bytes(), out) {
			t.Errorf("%q is read as %+v", out, files)
		}
	})
}

// leadingZeros reports whether a number may be written in another way.
func leadingZeros(out []byte) bool {
	return strings.Contains("\x00"+string(out), "\x000") || bytes.Contains(out, []byte("\t0"))
}

func TestCutPatch(t *testing.T) {
	t.Parallel()
	const (
		a      = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n"
		mode   = "diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
		binary = "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n"
	)
	tests := []struct{ name, patch, want string }{
		{"nothing", "", ""},
		{"no whole line", "diff --git a/", ""},
		{"within a header", a[:40], ""},
		{"before the first hunk", a[:strings.Index(a, "@@")], ""},
		{"after a hunk's head", a[:strings.Index(a, "-x")], a[:strings.Index(a, "-x")]},
		{"within a line", a[:len(a)-1], a[:len(a)-3]},
		{"within the second header", a + a[:40], a},
		{"after a change of mode, which may go on", a + mode, a},
		{"between the two", a + mode + a[:20], a + mode},
		{"binary", a + binary, a + binary},
		{"content that looks like a header", a + " diff --git a/z b/z\n" + "+diff --git\n", a + " diff --git a/z b/z\n" + "+diff --git\n"},
	}
	for _, test := range tests {
		if got := string(cutPatch([]byte(test.patch))); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
