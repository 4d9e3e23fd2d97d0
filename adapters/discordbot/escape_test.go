package discordbot

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain words, 3 of them.":  "plain words, 3 of them.",
		"**x** _y_":                `\*\*x\*\* \_y\_`,
		"[a](http://x)":            `\[a\]\(http\://x\)`,
		"@everyone @Here me@x.org": "@\u200beveryone @\u200bHere me@x.org",
		"<@1> <@&2> <#3>":          "\\<@\u200b1\\> \\<@\u200b&2\\> \\<#3\\>",
		"# a\n - b\n1. c\n> d":     "\\# a\n \\- b\n1\\. c\n\\> d",
		"a-b #1 + c 1.2":           "a-b #1 + c 1.2",
		"`c` a\\b":                 "\\`c\\` a\\\\b",
		":smile: note: x":          `\:smile: note: x`,
		"a\x00\x1b\u202Eb\xff":     "a\u2400\u241b\uFFFDb\uFFFD",
		"a\r\nb\rc":                "a\nb\nc",
		"👩‍💻 عربي":                 "👩‍💻 عربي",
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"main":       "`main`",
		"a`b``c":     "`aˋbˋˋc`",
		"a\n\nb":     "`a b`",
		"":           "` `",
		"\\":         "`\\`",
		"@everyone!": "`@\u200beveryone!`",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang, in string
		max      int
		want     string
	}{
		{"go", "a := 1\n", 100, "```go\na := 1\n```"},
		{"no lang!", "x", 100, "```\nx\n```"},
		{"", "", 100, "```\n \n```"},
		{"", "a\n```\nb", 100, "```\na\n`\u200b`\u200b`\nb\n```"},
		{"", strings.Repeat("line\n", 20), 50, "```\nline\nline\nline\nline\n… 16 more lines\n```"},
		{"", strings.Repeat("x", 99), 30, "```\nxxxxxxxxxxx\n… cut here\n```"},
		{"", "x", 8, ""},
	} {
		if got := block(c.lang, c.in, c.max); got != c.want {
			t.Errorf("block(%q, %q, %d) = %q, want %q", c.lang, c.in, c.max, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"äöü", 2, "ä…"},
		{"ab👩‍💻c", 5, "ab…"},
		{"ae\u0301x", 3, "a…"},
		{"x", 0, ""},
	} {
		if got := clip(c.in, c.max); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	for name, c := range map[string]struct {
		in   string
		max  int
		want []string
	}{
		"nothing":   {" \n", 100, nil},
		"one":       {"a\n", 100, []string{"a"}},
		"paragraph": {"first part\n\nsecond part", 14, []string{"first part", "second part"}},
		"line":      {"first part\nsecond part", 14, []string{"first part", "second part"}},
		"word":      {"first second", 9, []string{"first", "second"}},
		"no end":    {"abcdefgh", 3, []string{"abc", "def", "gh"}},
		"fence": {
			"```go\n" + strings.TrimSpace(long) + "\n" + strings.TrimSpace(long) + "\n```\nend", 200,
			[]string{"```go\n" + strings.TrimSpace(long) + "\n```", "```go\n" + strings.TrimSpace(long) + "\n```\nend"},
		},
		"fence begins late": {
			strings.TrimSpace(long) + "\n```go\n" + strings.TrimSpace(long) + "\n```", 170,
			[]string{strings.TrimSpace(long), "```go\n" + strings.TrimSpace(long) + "\n```"},
		},
		"ping": {"@everyone", 100, []string{"@\u200beveryone"}},
	} {
		got := split(c.in, c.max)
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// ping is what Discord would take for a mention.
var ping = regexp.MustCompile(`(?i)@everyone|@here|<@[!&]?\d`)

func checkText(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("no UTF-8: %q", s)
	}
	if found := ping.FindString(s); found != "" {
		t.Errorf("%q in %q", found, s)
	}
}

// rendered is what escaped text reads as, or ok false where something in it
// would be read as more than text.
func rendered(s string) (text string, ok bool) {
	var b strings.Builder
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			escaped = false
			if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) {
				return "", false
			}
		case r == '\\':
			escaped = true
			continue
		case strings.ContainsRune("`*_~|<>[]()", r):
			return "", false
		}
		b.WriteRune(r)
	}
	return b.String(), !escaped
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{hostile, "# a\n- b\n1. c", "<@&1>@here", "https://x\r\n:a:", "\xff\u2066"} {
		f.Add(s)
	}
	special := regexp.MustCompile(`(?m)^[ \t]*([#+-]|\d+\.)|(^|[^\\]):(//|[a-z0-9_+-]+:)`)
	f.Fuzz(func(t *testing.T, s string) {
		got := escape(s)
		checkText(t, got)
		read, ok := rendered(got)
		if !ok {
			t.Fatalf("not plain: %q", got)
		}
		if strings.ReplaceAll(read, apart, "") != clean(s) {
			t.Errorf("reads %q, want %q", read, clean(s))
		}
		if found := special.FindString(got); found != "" {
			t.Errorf("%q in %q", found, got)
		}
		for _, r := range got {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%q in %q", r, got)
			}
		}
	})
}

func FuzzCode(f *testing.F) {
	for _, s := range []string{hostile, "", "`", "``", "a\nb", "@@everyone"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := code(s)
		checkText(t, got)
		if len(got) < 3 || got[0] != '`' || got[len(got)-1] != '`' || strings.ContainsAny(got[1:len(got)-1], "`\n\r") {
			t.Errorf("code(%q) = %q", s, got)
		}
	})
}

func FuzzBlock(f *testing.F) {
	f.Add("go", hostile, 50)
	f.Add("", "a\n```\n``````", 20)
	f.Add("`", "\n\n", 9)
	f.Fuzz(func(t *testing.T, lang, s string, max int) {
		max %= 3000
		got := block(lang, s, max)
		if got == "" {
			if max >= len(lang)+9 {
				t.Errorf("nothing in %d characters", max)
			}
			return
		}
		checkText(t, got)
		if utf8.RuneCountInString(got) > max {
			t.Errorf("%d characters of %d", utf8.RuneCountInString(got), max)
		}
		if strings.Count(got, fence) != 2 || !strings.HasPrefix(got, fence) || !strings.HasSuffix(got, "\n"+fence) {
			t.Errorf("block(%q, %q, %d) = %q", lang, s, max, got)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add(hostile, 10)
	f.Add("👩‍💻e\u0301\xff", 2)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max %= 3000
		got := clip(s, max)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > atLeast(max) {
			t.Errorf("clip(%q, %d) = %q", s, max, got)
		}
		whole := strings.ToValidUTF8(s, "\uFFFD")
		if head, cut := strings.CutSuffix(got, "…"); got != whole && max > 0 && (!cut || !strings.HasPrefix(whole, head)) {
			t.Errorf("clip(%q, %d) = %q", s, max, got)
		}
	})
}

func atLeast(n int) int { return max(n, 0) }

func FuzzSplit(f *testing.F) {
	f.Add(hostile+strings.Repeat(" word", 100), 100)
	f.Add("```go\n"+strings.Repeat("x := 1\n", 50)+"```\n"+strings.Repeat("a", 300), 90)
	f.Add(strings.Repeat("```", 60)+"\n\n\n", 81)
	f.Add("a\n\nb", 1)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max %= 3000
		whole := unping(strings.ToValidUTF8(s, "\uFFFD"))
		var bodies strings.Builder
		for _, p := range pieces(whole, max) {
			bodies.WriteString(p.body)
		}
		if max > 0 && bodies.String() != whole {
			t.Fatalf("pieces of %q, %d: %q", s, max, bodies.String())
		}
		messages := split(s, max)
		for i, m := range messages {
			checkText(t, m)
			if n := utf8.RuneCountInString(m); n > max || strings.TrimSpace(m) == "" {
				t.Errorf("%d characters of %d: %q", n, max, m)
			}
			if max >= 80 && i < len(messages)-1 && strings.Count(m, fence)%2 != 0 {
				t.Errorf("piece %d of %q leaves a block open: %q", i, s, m)
			}
		}
		if max >= 80 && squeeze(strings.Join(messages, "")) != squeeze(whole) && !strings.Contains(s, fence) {
			t.Errorf("%q became %q", s, messages)
		}
	})
}

// squeeze leaves the blanks out, which a piece doesn't end with.
func squeeze(s string) string { return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), "") }
