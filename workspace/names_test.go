package workspace_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/threadtree/threadtree/workspace"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"Fix login", "fix-login"},
		{"  --Fix   (login)!! ", "fix-login"},
		{"model comparison", "model-comparison"},
		{"a..b", "a-b"},
		{"x.lock", "x-lock"},
		{"../x", "x"},
		{"-x", "x"},
		{"@{-1}", "1"},
		{"Größe ändern", "größe-ändern"},
		{"İstanbul", "i̇stanbul"},
		{"日本語 スレッド", "日本語-スレッド"},
		{"हिन्दी में", "हिन्दी-में"},
		{"e\u0301tude", "étude"},
		{"\u0301x", "x"},
		{"🌳🌳", ""},
		{"", ""},
		{"a\x00b\nc", "a-b-c"},
		{"bad \xff byte", "bad-byte"},
	} {
		if got := workspace.Slug(tt.text); got != tt.want {
			t.Errorf("Slug(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestNameFromTitle(t *testing.T) {
	t.Parallel()
	long := "The configurable sidebar width should be remembered for each component of the page"
	for _, tt := range []struct{ title, slug string }{
		{"Fix login", "fix-login"},
		{"threadtree/fix-login", "fix-login"},
		{long, "the-configurable-sidebar-width-should-be-remembered-for-each"},
		{strings.Repeat("a", 300), strings.Repeat("a", workspace.MaxTitleSlug)},
		{strings.Repeat("語", 30), strings.Repeat("語", 20)},
		{"🌳", "thread-46e9bc34"},
	} {
		n := workspace.NameFromTitle("threadtree/", tt.title, "t-1")
		if n.Kind != workspace.NameTitle || n.Branch != "threadtree/"+n.Slug {
			t.Errorf("NameFromTitle(%q) = %+v", tt.title, n)
		}
		if n.Slug != tt.slug {
			t.Errorf("NameFromTitle(%q): slug %q, want %q", tt.title, n.Slug, tt.slug)
		}
	}
}

func TestNameFromTyped(t *testing.T) {
	t.Parallel()
	n, err := workspace.NameFromTyped("threadtree/", "  threadtree/Fix Login ")
	if err != nil || n.Branch != "threadtree/fix-login" || n.Kind != workspace.NameTyped {
		t.Errorf("got %+v, %v", n, err)
	}
	if n, err := workspace.NameFromTyped("threadtree/", strings.Repeat("a", 200)); err != nil || len(n.Slug) != 200 {
		t.Errorf("200 bytes: %d, %v", len(n.Slug), err)
	}
	for _, typed := range []string{"", "🌳", "...", "-", strings.Repeat("a", 201), strings.Repeat("x", 10_000), "\xff\xfe"} {
		if _, err := workspace.NameFromTyped("threadtree/", typed); !errors.Is(err, workspace.ErrInvalidName) || workspace.HintOf(err) == "" {
			t.Errorf("NameFromTyped(%.20q): %v, want invalid_name with a hint", typed, err)
		}
	}
}

func TestNameFromBranch(t *testing.T) {
	t.Parallel()
	long := "feature/abc-1234-implement-user-authentication-flow-for-external-identity-providers-v2"
	for _, branch := range []string{"main", "feature/login", "wip.1", "größe", "(detached)", "a@b", long} {
		n, err := workspace.NameFromBranch(branch)
		if err != nil || n.Branch != branch || n.Kind != workspace.NameBranch || n.Slug == "" || len(n.Slug) > workspace.MaxTitleSlug {
			t.Errorf("NameFromBranch(%q) = %+v, %v", branch, n, err)
		}
	}
	for _, branch := range badRefs {
		if _, err := workspace.NameFromBranch(branch); !errors.Is(err, workspace.ErrInvalidName) {
			t.Errorf("NameFromBranch(%.20q): %v, want invalid_name", branch, err)
		}
	}
	for _, branch := range []string{"HEAD", "refs/heads/main", "refs/x", "heads/main", strings.Repeat("1a", 20), strings.Repeat("B0", 32)} {
		if _, err := workspace.NameFromBranch(branch); !errors.Is(err, workspace.ErrInvalidName) {
			t.Errorf("%s: %v, want invalid_name", branch, err)
		}
	}
	for _, branch := range []string{"refs", "heads", "1a2b3c4", strings.Repeat("1a", 21), strings.Repeat("1g", 20)} {
		if _, err := workspace.NameFromBranch(branch); err != nil {
			t.Errorf("%s: %v", branch, err)
		}
	}
}

var badRefs = []string{
	"", "-x", "--lock", "@", "@{-1}", "a@{0}", "a..b", "../x", "a/../b", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b",
	"a b", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "a\x00b", "a\nb", "a\x7fb", "\xff", strings.Repeat("a", 10_000), strings.Repeat("a", 251),
}

func TestCheckRef(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"HEAD", "main", "origin/main", "v1.0.0", "0123abc", "refs/heads/main"} {
		if err := workspace.CheckRef(ref); err != nil {
			t.Errorf("CheckRef(%q): %v", ref, err)
		}
	}
	for _, ref := range badRefs {
		if err := workspace.CheckRef(ref); !errors.Is(err, workspace.ErrInvalidRef) {
			t.Errorf("CheckRef(%.20q): %v, want invalid_ref", ref, err)
		}
	}
}

func TestCheckThreadID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"1", "1234567890123456789", "ünïcode", "a b/c"} {
		if err := workspace.CheckThreadID(id); err != nil {
			t.Errorf("CheckThreadID(%q): %v", id, err)
		}
	}
	for _, id := range []string{"", "a\nb", "\x00", "\xff", strings.Repeat("1", 201)} {
		if err := workspace.CheckThreadID(id); !errors.Is(err, workspace.ErrInvalidName) {
			t.Errorf("CheckThreadID(%.20q): %v, want invalid_name", id, err)
		}
	}
}

func TestSuffixed(t *testing.T) {
	t.Parallel()
	title := workspace.NameFromTitle("threadtree/", "Fix login", "1")
	if got := title.Suffixed(1); got != title {
		t.Errorf("Suffixed(1) = %+v", got)
	}
	if got := title.Suffixed(3); got.Branch != "threadtree/fix-login-3" || got.Slug != "fix-login-3" {
		t.Errorf("Suffixed(3) = %+v", got)
	}
	branch, err := workspace.NameFromBranch("feat/foo")
	if err != nil {
		t.Fatal(err)
	}
	if got := branch.Suffixed(2); got.Branch != "feat/foo" || got.Slug != "feat-foo-2" {
		t.Errorf("the branch's own name must stay: %+v", got)
	}
	typed, err := workspace.NameFromTyped("threadtree/", strings.Repeat("a", 200))
	if err != nil {
		t.Fatal(err)
	}
	if got := typed.Suffixed(12); len(got.Slug) != 200 || !strings.HasSuffix(got.Branch, "-12") {
		t.Errorf("Suffixed(12) of 200 bytes = %d bytes, %+v", len(got.Slug), got)
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"Fix", "fIX"}, {"e\u0301", "É"}, {"straße", "STRASSE"}} {
		if workspace.Fold(pair[0]) != workspace.Fold(pair[1]) {
			t.Errorf("%q and %q are one file on a disk without case", pair[0], pair[1])
		}
	}
	if workspace.Fold("a") == workspace.Fold("b") {
		t.Error("a and b are two files")
	}
}

// FuzzNames holds the rule for names: whatever is typed, a name is a valid
// branch with one file name, within the limits, and stable.
func FuzzNames(f *testing.F) {
	for _, s := range append(badRefs, "Fix login", "日本語", "threadtree/x", "İ", "ﬃ", "e\u0301\u0302", "\u0301") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		title := workspace.NameFromTitle("threadtree/", text, "thread")
		names := []workspace.Name{title, title.Suffixed(2), title.Suffixed(1000)}
		if len(title.Slug) > workspace.MaxTitleSlug {
			t.Errorf("slug of %d bytes", len(title.Slug))
		}
		if typed, err := workspace.NameFromTyped("threadtree/", text); err == nil {
			names = append(names, typed, typed.Suffixed(2))
			if again, err := workspace.NameFromTyped("threadtree/", typed.Branch); err != nil || again != typed {
				t.Errorf("typing %q again gives %+v, %v, not %+v", typed.Branch, again, err, typed)
			}
		}
		if branch, err := workspace.NameFromBranch(text); err == nil {
			names = append(names, branch, branch.Suffixed(2))
		}
		for _, n := range names {
			if n.Slug == "" || strings.ContainsAny(n.Slug, "/\\\x00.") || !utf8.ValidString(n.Slug) || n.Slug[0] == '-' || len(n.Slug) > workspace.MaxTypedSlug {
				t.Errorf("slug %q of %q is no file name", n.Slug, text)
			}
			if !norm.NFC.IsNormalString(n.Slug) {
				t.Errorf("slug %q isn't NFC", n.Slug)
			}
			if err := workspace.CheckRef(n.Branch); err != nil {
				t.Errorf("branch %q of %q: %v", n.Branch, text, err)
			}
		}
	})
}
