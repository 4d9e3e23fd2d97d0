package gitops

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	idA = strings.Repeat("a", 40)
	idB = strings.Repeat("b", 40)
	idC = strings.Repeat("c", 64)
)

func zeros(parts ...string) []byte { return []byte(strings.Join(parts, "\x00")) }

func TestParseMergeTree(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		out  []byte
		want mergeResult
		bad  bool
	}{
		{name: "clean", out: zeros(idA, ""), want: mergeResult{tree: idA}},
		{name: "clean, SHA-256", out: zeros(idC, ""), want: mergeResult{tree: idC}},
		{
			name: "conflict", out: zeros(idA, "100644 "+idB+" 1\tf", "120000 "+idB+" 3\ta\tb\nc", "", "1", "f", "Auto-merging", "Auto-merging f\n", "2", "f", "g", "CONFLICT (contents)", "CONFLICT (content): f\n", ""),
			want: mergeResult{
				tree:    idA,
				entries: []mergeEntry{{"100644", idB, 1, "f"}, {"120000", idB, 3, "a\tb\nc"}},
				notes:   []mergeNote{{[]string{"f"}, "Auto-merging", "Auto-merging f"}, {[]string{"f", "g"}, "CONFLICT (contents)", "CONFLICT (content): f"}},
			},
		},
		{
			name: "notes alone", out: zeros(idA, "", "0", "CONFLICT (directory rename unclear split)", "unclear\n", ""),
			want: mergeResult{tree: idA, notes: []mergeNote{{[]string{}, "CONFLICT (directory rename unclear split)", "unclear"}}},
		},
		{
			name: "advice after the notes", out: zeros(idA, "160000 "+idB+" 2\tm", "", "1", "m", "CONFLICT (submodule)", "no\n", "Recursive merging with submodules\n\n  git add m\n"),
			want: mergeResult{tree: idA, entries: []mergeEntry{{"160000", idB, 2, "m"}}, notes: []mergeNote{{[]string{"m"}, "CONFLICT (submodule)", "no"}}},
		},
		{name: "conflict without notes", out: zeros(idA, "100644 "+idB+" 2\tf", ""), want: mergeResult{tree: idA, entries: []mergeEntry{{"100644", idB, 2, "f"}}}},
		{name: "nothing", bad: true},
		{name: "no end", out: []byte(idA), bad: true},
		{name: "no tree", out: zeros("fatal: no", ""), bad: true},
		{name: "cut within an entry", out: zeros(idA, "100644 "+idB+" 2\tf"), bad: true},
		{name: "stage 4", out: zeros(idA, "100644 "+idB+" 4\tf", ""), bad: true},
		{name: "no path", out: zeros(idA, "100644 "+idB+" 1\t", ""), bad: true},
		{name: "no id", out: zeros(idA, "100644 b 1\tf", ""), bad: true},
		{name: "too few paths", out: zeros(idA, "", "3", "f", "kind", "text", ""), bad: true},
		{name: "negative", out: zeros(idA, "", "-1", "kind", "text", ""), bad: true},
		{name: "no number", out: zeros(idA, "", "f", "kind", "text", ""), bad: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseMergeTree(test.out)
			if test.bad {
				if err == nil {
					t.Fatalf("got %+v and no error", got)
				}
				return
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(mergeResult{}, mergeEntry{}, mergeNote{})); err != nil || diff != "" {
				t.Errorf("error %v; (-want +got):\n%s", err, diff)
			}
		})
	}
}

func FuzzParseMergeTree(f *testing.F) {
	f.Add(zeros(idA, ""))
	f.Add(zeros(idA, "100644 "+idB+" 1\tf", "", "1", "f", "CONFLICT (contents)", "text\n", ""))
	f.Fuzz(func(t *testing.T, out []byte) {
		m, err := parseMergeTree(out)
		if err != nil {
			return
		}
		if !isObjectID(m.tree) {
			t.Errorf("tree %q", m.tree)
		}
		files := m.files()
		for _, e := range m.entries {
			if e.path == "" || e.stage < 1 || e.stage > 3 || !slices.Contains(files, e.path) {
				t.Errorf("entry %+v, files %q", e, files)
			}
		}
		m.relabelled(idA, idB)
	})
}

func TestConflictFilesLoseTheirLabels(t *testing.T) {
	t.Parallel()
	m := mergeResult{
		entries: []mergeEntry{{path: "x~" + idA}, {path: "x~" + idB}, {path: "y~" + idB + "_1"}, {path: "z~HEAD"}, {path: "w~" + idA + "/f"}},
		notes:   []mergeNote{{paths: []string{"v~" + idA}, kind: "CONFLICT (file/directory)"}},
	}
	want := []string{"w~" + idA + "/f", "x", "y", "z~HEAD"}
	if diff := cmp.Diff(want, m.relabelled(idA, idB).files()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRevList(t *testing.T) {
	t.Parallel()
	got, err := parseRevList([]byte("+" + idA + "\n=" + idB + " " + idA + "\n" + idC + " " + idA + " " + idB + "\n"))
	want := []rangeCommit{{idA, []string{}, false}, {idB, []string{idA}, true}, {idC, []string{idA, idB}, false}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(rangeCommit{})); err != nil || diff != "" {
		t.Errorf("error %v; (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"\n", "-" + idA + "\n", idA + "  " + idB + "\n", "commit " + idA + "\n"} {
		if got, err := parseRevList([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if got, err := parseRevList(nil); err != nil || got != nil {
		t.Errorf("nothing is read as %v, error %v", got, err)
	}
}

func TestParseTree(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("\x01", 20)
	entry := func(mode, name string) string { return mode + " " + name + "\x00" + id }
	for content, ok := range map[string]bool{
		"":                   true,
		entry(modeFile, "a"): true,
		entry(modeFile, "a.b") + entry(modeTree, "a") + entry(modeFile, "a0"): true, // a tree's name ends in a slash here
		entry(modeTree, "a") + entry(modeFile, "a.b"):                         false,
		entry(modeFile, "b") + entry(modeFile, "a"):                           false,
		entry(modeFile, "a") + entry(modeFile, "a"):                           false,
		entry("100664", "a"):                                                  false,
		entry("040000", "a"):                                                  false,
		entry(modeFile, ""):                                                   false,
		entry(modeFile, "a")[:9]:                                              false,
		"100644 a":                                                            false,
		entry(modeRepo, "m\xff"):                                              true,
	} {
		entries, err := parseTree(content, 20)
		if (err == nil) != ok {
			t.Errorf("%q: error %v", content, err)
		}
		if err == nil && string(formatTree(entries)) != content {
			t.Errorf("%q becomes %q", content, formatTree(entries))
		}
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add("100644 a\x00aaaaaaaaaaaaaaaaaaaa40000 b\x00bbbbbbbbbbbbbbbbbbbb")
	f.Fuzz(func(t *testing.T, content string) {
		entries, err := parseTree(content, 20)
		if err != nil {
			return
		}
		if got := string(formatTree(entries)); got != content {
			t.Errorf("%q becomes %q", content, got)
		}
		for _, e := range entries {
			if found, ok := entryNamed(entries, e.name, e.isTree()); !ok || found != e {
				t.Errorf("%q isn't found", e.name)
			}
		}
	})
}

func TestParseCommit(t *testing.T) {
	t.Parallel()
	const header = "tree T\nparent P\nauthor A <a> 1 +0000\nauthor no\nencoding latin1\ngpgsig x\n author y\ncommitter C <c> 2 +0000"
	want := commitObject{id: "id", tree: "T", parents: []string{"P"}, author: "A <a> 1 +0000", encoding: "latin1", message: "m\n"}
	for raw, want := range map[string]commitObject{
		header + "\n\nm\n":         want,
		header + "\n\nm\n\x00rest": want,
		header:                     {id: "id", tree: "T", parents: []string{"P"}, author: "A <a> 1 +0000", encoding: "latin1"},
		"":                         {id: "id"},
	} {
		if diff := cmp.Diff(want, parseCommit("id", []byte(raw)), cmp.AllowUnexported(commitObject{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	}
}

func TestRepairUTF8(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "",
		"plain":                      "plain",
		"gr\u00fc\u00dfe \U0001f333": "gr\u00fc\u00dfe \U0001f333",
		"\xff":                       "\u00ff",
		"a\xfcb\xdf":                 "a\u00fcb\u00df",
		"\xe2\x82":                   "\u00e2\u0082",
		"\xed\xa0\x80":               "\u00ed\u00a0\u0080", // half a surrogate pair
		"\xef\xbf\xbe":               "\u00ef\u00bf\u00be", // set aside
		"\xef\xb7\x90!":              "\u00ef\u00b7\u0090!",
		"\ufffd":                     "\ufffd",
	} {
		if got := repairUTF8(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestSplitIdentity(t *testing.T) {
	t.Parallel()
	for identity, want := range map[string]string{
		"Ada <ada@x> 1700000000 +0100":    "Ada|ada@x|2023-11-14T23:13:20+01:00",
		"Ada L. <ada@x> 1700000000 -0330": "Ada L.|ada@x|2023-11-14T18:43:20-03:30",
		"<a@x> 0 +0000":                   "|a@x|1970-01-01T00:00:00Z",
		"Ada <ada@x>":                     "Ada|ada@x|0001-01-01T00:00:00Z",
		"Ada":                             "Ada||0001-01-01T00:00:00Z",
		"":                                "||0001-01-01T00:00:00Z",
	} {
		name, email, when := splitIdentity(identity)
		if got := name + "|" + email + "|" + when.Format("2006-01-02T15:04:05Z07:00"); got != want {
			t.Errorf("%q: %s, want %s", identity, got, want)
		}
	}
}

func TestBranchWords(t *testing.T) {
	t.Parallel()
	for branch, want := range map[string]string{
		"threadtree/fix-the_login": "Fix the login", "main": "Main", "": "", "a/-": "", "x/\u00fcber-alles": "\u00dcber alles",
	} {
		if got := branchWords(branch); got != want {
			t.Errorf("%q becomes %q, want %q", branch, got, want)
		}
	}
}

func TestSubject(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"one\n": "one", "one\ntwo \n\nbody": "one two", "\n \n x": "x", "": "", "\r\n": "", "a\r\n\r\nb": "a",
	} {
		if got := subject(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
