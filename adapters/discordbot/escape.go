package discordbot

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// apart keeps what stands on both sides of it from being read as one.
	apart = "\u200b"
	// masked stands for a character that would not be seen, or would change
	// how others are seen.
	masked = '\uFFFD'
	fence  = "```"
)

// escape makes the text of a person or of git plain text: nothing in it is
// read as Markdown, as a mention or as a link. Lines stay lines.
func escape(s string) string {
	s = clean(s)
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	start := true // of a line, blanks apart
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case r == '\n':
			start = true
			b.WriteByte('\n')
			continue
		case strings.ContainsRune("\\`*_~|<>[]()", r),
			r == ':' && rest != "" && !blank(rest),
			start && strings.ContainsRune("#-+", r),
			r == '.' && ordinal(s[:i]):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if r == '@' && pings(rest) {
			b.WriteString(apart)
		}
		start = start && (r == ' ' || r == '\t')
	}
	return b.String()
}

// blank reports whether the text begins with a blank.
func blank(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

// ordinal reports whether the text ends with a line of digits alone, which a
// full stop would make the beginning of a list.
func ordinal(s string) bool {
	line := strings.TrimLeft(s[strings.LastIndexByte(s, '\n')+1:], " \t")
	return line != "" && strings.Trim(line, "0123456789") == ""
}

// pings reports whether an @ before the text would address somebody.
func pings(rest string) bool {
	if rest == "" {
		return false
	}
	for _, word := range []string{"everyone", "here"} {
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return true
		}
	}
	return rest[0] == '!' || rest[0] == '&' || '0' <= rest[0] && rest[0] <= '9'
}

// unping breaks the mentions in a text that is otherwise left as it is.
func unping(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "@")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('@')
		if pings(after) {
			b.WriteString(apart)
		}
		s = after
	}
}

// clean returns valid UTF-8 with one kind of line end, in which what can't be
// seen or turns the direction of text is masked. Joiners stay: emoji and some
// scripts need them.
func clean(s string) string {
	s = strings.ToValidUTF8(s, string(masked))
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d':
			return r
		case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case r < 0x20:
			return '\u2400' + r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
			return masked
		}
		return r
	}, s)
}

// oneLine cleans the text and puts it on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// code returns the text as inline code. Discord knows no escape within it, so
// a backtick is shown by the one that only looks like it.
func code(s string) string {
	s = strings.ReplaceAll(unping(oneLine(s)), "`", "ˋ")
	if s == "" {
		s = " "
	}
	return "`" + s + "`"
}

// block returns the text as a block of code of at most max characters, fences
// included. What doesn't fit is cut, at the end of a line if possible, and
// counted in a last line. Where max has no room for a block it returns "".
func block(lang, s string, max int) string {
	if strings.Trim(strings.ToLower(lang), "abcdefghijklmnopqrstuvwxyz0123456789+-") != "" {
		lang = ""
	}
	open, end := fence+lang+"\n", "\n"+fence
	room := max - len(open) - len(end)
	if room < 1 {
		return ""
	}
	s = unfenced(strings.TrimRight(strings.TrimLeft(unping(clean(s)), "\n"), "\n\t "))
	if s == "" {
		s = " "
	}
	if utf8.RuneCountInString(s) > room {
		s = cut(s, room)
	}
	return open + s + end
}

// unfenced breaks up each run of backticks that would end a block.
func unfenced(s string) string {
	return strings.ReplaceAll(s, "``", "`"+apart+"`"+apart)
}

// cut shortens the text to max characters with a last line that counts what is
// left out.
func cut(s string, max int) string {
	lines := strings.Split(s, "\n")
	room := max - len("\n… 1000000 more lines")
	kept, used := 0, 0
	for kept < len(lines) {
		used += utf8.RuneCountInString(lines[kept]) + 1
		if used-1 > room {
			break
		}
		kept++
	}
	if kept > 0 && len(lines)-kept < 1_000_000 {
		return strings.Join(lines[:kept], "\n") + fmt.Sprintf("\n… %s", counted(len(lines)-kept, "more line"))
	}
	const note = "\n… cut here"
	if room = max - utf8.RuneCountInString(note); room < 1 {
		return clip(s, max)
	}
	return headOf(s, room) + note
}

// clip shortens the text to max characters, the last of which is … then.
func clip(s string, max int) string {
	s = strings.ToValidUTF8(s, string(masked))
	switch {
	case max <= 0:
		return ""
	case utf8.RuneCountInString(s) <= max:
		return s
	}
	return headOf(s, max-1) + "…"
}

// headOf returns at most the first n characters. It takes no mark from the
// character that it belongs to, where that is near.
func headOf(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	for at := n; at > 0 && at > n-16; at-- {
		if !joined(runes[at-1], runes[at]) {
			return string(runes[:at])
		}
	}
	return string(runes[:n])
}

// joined reports whether two characters are shown as one.
func joined(a, b rune) bool {
	return a == '\u200d' || b == '\u200d' || unicode.In(b, unicode.M) ||
		0x1F3FB <= b && b <= 0x1F3FF || regional(a) && regional(b)
}

func regional(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }

// counted returns a number and what it counts.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
