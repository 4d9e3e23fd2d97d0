package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"golang.org/x/text/width"
)

// terminal returns how many columns f has, and whether it is a terminal.
func terminal(f *os.File) (columns int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// visible returns text as it may be shown: what would steer a terminal, or
// turn the direction of a line, is written out.
func visible(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, steers) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case steers(r):
			b.WriteString(strings.Trim(fmt.Sprintf("%q", r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// columns returns how many columns of a terminal text takes.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// pad fills text up to n columns and two more.
func pad(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-columns(text))+2)
}

// table is rows of cells; the last cell of a row may be as long as it likes.
type table [][]string

// lines aligns the cells and folds the last one at the width, if there is one.
func (t table) lines(width int) []string {
	wide := t.widths()
	lines := make([]string, len(t))
	for i, row := range t {
		lines[i] = aligned(row, wide, width)
	}
	return lines
}

// widths are those of the columns.
func (t table) widths() []int {
	wide := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			wide[i] = max(wide[i], columns(cell))
		}
	}
	return wide
}

// aligned is one line of a table whose columns have those widths.
func aligned(row []string, wide []int, width int) string {
	head := ""
	for i, cell := range row[:len(row)-1] {
		head += pad(cell, wide[i])
	}
	return fold(head, row[len(row)-1], width)
}

// limit cuts the cells of a column, so that all columns but the last one take
// no more than room, but leaves 16 of each.
func (t table) limit(column, room int) {
	for i := range t[0][:len(t[0])-1] {
		wide := 0
		for _, row := range t {
			wide = max(wide, columns(row[i]))
		}
		if i != column {
			room -= wide
		}
		room -= 2
	}
	for _, row := range t {
		row[column] = cut(row[column], max(room, 16))
	}
}

// cut shortens text to n columns.
func cut(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	var b strings.Builder
	at := 1 // for the dots
	for _, r := range text {
		if at += columns(string(r)); at > n {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// fold writes text after head, and its further lines below its first one.
func fold(head, text string, width int) string { return foldAt(head, text, width, columns(head)) }

// foldAt writes text after head, and its further lines indented. Where that
// leaves too little room, text is below head.
func foldAt(head, text string, width, indent int) string {
	words := strings.Fields(text)
	var b strings.Builder
	b.WriteString(head)
	at := columns(head)
	if width > 0 && width-at < 20 && len(words) > 0 {
		at, indent = 4, 4
		b.Reset()
		b.WriteString(strings.TrimRight(head, " ") + "\n" + strings.Repeat(" ", indent))
	}
	for i, word := range words {
		n := columns(word)
		switch {
		case i == 0:
		case width > 0 && at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

// hang folds a sentence below a mark.
func (a *app) hang(mark, text string) string { return fold(mark, a.sentence(text), a.width) }

// sentence shows a text with the user's home as ~ where a path begins with it.
func (a *app) sentence(text string) string {
	words := strings.Split(visible(text), " ")
	for i, word := range words {
		words[i] = tilde(word, a.home)
	}
	return strings.Join(words, " ")
}

// path shows a directory with the user's home as ~.
func (a *app) path(dir string) string { return visible(tilde(dir, a.home)) }

func tilde(dir, home string) string {
	if home == "" || home == "/" {
		return dir
	}
	if rest, ok := strings.CutPrefix(dir, filepath.Clean(home)); ok && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return dir
}

// ago says how long before now t was.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh %dm ago", int(d.Hours()), int(d.Minutes())%60)
	case d < 30*24*time.Hour:
		return fmt.Sprintf("%dd %dh ago", int(d.Hours())/24, int(d.Hours())%24)
	}
	return t.Local().Format(time.DateOnly)
}

// short cuts an object id to what people say.
func short(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}

// bracketed puts text, if there is any, into brackets after a space.
func bracketed(before, text string) string {
	if text == "" {
		return ""
	}
	return " (" + before + text + ")"
}
