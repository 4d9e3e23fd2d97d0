package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain":              "plain",
		"日本語 🙂 é":            "日本語 🙂 é",
		"a\nb\tc":            `a\nb\tc`,
		"\x1b[31mred\x07":    `\x1b[31mred\a`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"\u0085next":         `\u0085next`,
		"bad\xff\xfe":        `bad\xff\xfe`,
		"real \uFFFD":        "real \uFFFD",
		"real \uFFFD\x01":    "real \uFFFD" + `\x01`,
		"line\u2028sep":      `line\u2028sep`,
		"joiner 👨\u200d👩 ok": "joiner 👨\u200d👩 ok",
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, not %q", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := visible(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, steers) {
			t.Errorf("visible(%q) = %q", text, got)
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, steers) && got != text {
			t.Errorf("harmless text %q was changed to %q", text, got)
		}
	})
}

func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "🙂": 2, "é": 1, "e\u0301": 1, "ｗ": 2, "ｱ": 1, "a\u200db": 2, "Größe": 5,
	} {
		if got := columns(text); got != want {
			t.Errorf("columns(%q) = %d, not %d", text, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := table{
		{"THREAD", "BRANCH", "STATE"},
		{"1", "日本語", "clean"},
		{"22", "e\u0301", "dirty (2 modified, 1 untracked), 3 ahead"},
		{"3", "", ""},
	}
	for width, want := range map[int]string{
		0: "" +
			"THREAD  BRANCH  STATE\n" +
			"1       日本語  clean\n" +
			"22      e\u0301       dirty (2 modified, 1 untracked), 3 ahead\n" +
			"3\n",
		40: "" +
			"THREAD  BRANCH  STATE\n" +
			"1       日本語  clean\n" +
			"22      e\u0301       dirty (2 modified, 1\n" +
			"                untracked), 3 ahead\n" +
			"3\n",
		20: "" +
			"THREAD  BRANCH\n    STATE\n" +
			"1       日本語\n    clean\n" +
			"22      e\u0301\n    dirty (2\n    modified, 1\n    untracked), 3\n    ahead\n" +
			"3\n",
	} {
		if got := strings.Join(rows.lines(width), ""); got != want {
			t.Errorf("at width %d:\n%s\nnot\n%s", width, got, want)
		}
	}
}

func TestTableLimit(t *testing.T) {
	t.Parallel()
	rows := table{
		{"THREAD", "BRANCH", "STATE"},
		{"1", "a-branch-of-some-日本語-length", "clean"},
		{"2", "short", "dirty"},
	}
	rows.limit(1, 30)
	if got, want := rows[1][1], "a-branch-of-some-日…"; got != want {
		t.Errorf("cut to %q, not %q", got, want)
	}
	rows.limit(1, 5)
	if got, want := rows[1][1], "a-branch-of-som…"; got != want {
		t.Errorf("cut to %q, not %q", got, want)
	}
	if rows[2][1] != "short" {
		t.Errorf("%q was cut", rows[2][1])
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour:               "just now",
		0:                        "just now",
		59 * time.Second:         "just now",
		time.Minute:              "1m ago",
		59*time.Minute + 59e9:    "59m ago",
		3*time.Hour + 12*60*1e9:  "3h 12m ago",
		49*time.Hour + 1e9:       "2d 1h ago",
		24 * time.Hour * 29:      "29d 0h ago",
		24 * time.Hour * 40:      now.Add(-24 * time.Hour * 40).Local().Format(time.DateOnly),
		24*time.Hour - time.Hour: "23h 0m ago",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("%s ago is told as %q, not %q", d, got, want)
		}
	}
}

func TestTilde(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"/home/ada/x", "/home/ada", "~/x"},
		{"/home/ada", "/home/ada", "~"},
		{"/home/ada/x", "/home/ada/", "~/x"},
		{"/home/adam/x", "/home/ada", "/home/adam/x"},
		{"/x", "", "/x"},
		{"/x", "/", "/x"},
		{"", "/home/ada", ""},
	} {
		if got := tilde(c[0], c[1]); got != c[2] {
			t.Errorf("tilde(%q, %q) = %q, not %q", c[0], c[1], got, c[2])
		}
	}
}
