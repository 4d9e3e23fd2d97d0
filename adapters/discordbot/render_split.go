package discordbot

import (
	"strings"
	"unicode/utf8"
)

// piece is a part of a long text: before and after are added where a block of
// code goes on over its ends.
type piece struct{ before, body, after string }

// split cuts a long answer into messages of at most max characters, at the end
// of a paragraph, a line or a word where there is one. A block of code that is
// cut is closed and opened again. Its Markdown stays, its mentions are broken.
// A text of blanks alone has no pieces.
func split(s string, max int) []string {
	var messages []string
	for _, p := range pieces(unping(strings.ToValidUTF8(s, string(masked))), max) {
		body := strings.TrimRight(p.body, " \t\n")
		if p.before == "" {
			body = strings.TrimLeft(body, "\n")
		}
		if strings.TrimSpace(body) != "" {
			messages = append(messages, p.before+body+p.after)
		}
	}
	return messages
}

// pieces cuts the text; the bodies joined are the text.
func pieces(s string, max int) []piece {
	if max < 1 {
		return nil
	}
	// With next to no room, fences would be all there is.
	fences := max >= 80
	var list []piece
	lang, open := "", false
	for s != "" {
		p := piece{}
		room := max
		if open {
			p.before = fence + lang + "\n"
			room -= len(p.before)
		}
		if byteAt(s, room) == len(s) {
			// All that is left.
			p.body, s = s, ""
			list = append(list, p)
			break
		}
		if fences {
			room -= len("\n" + fence)
		}
		at := breakAt(s, room, lang, open)
		if fences {
			was := open
			lang, open = fenceAfter(s[:at], lang, open)
			if trimmed := strings.TrimLeft(s[at:], "\n"); open && strings.HasPrefix(trimmed, fence) {
				// The block ends here: its own end takes the place of ours.
				if end := len(s) - len(trimmed) + len(fence); fits(p.before+s[:end], max) {
					at, open, lang = end, false, ""
				}
			}
			if open {
				p.after = "\n" + fence
			}
			if !was && open && strings.TrimSpace(afterFence(s[:at])) == "" {
				// A block that has just begun begins in the next piece instead.
				if i := strings.LastIndex(s[:at], fence); strings.TrimSpace(s[:i]) != "" {
					at, open, lang, p.after = i, false, "", ""
				}
			}
		}
		p.body, s = s[:at], s[at:]
		list = append(list, p)
	}
	return list
}

func fits(s string, max int) bool { return utf8.RuneCountInString(s) <= max }

// afterFence returns what follows the line of the last fence.
func afterFence(s string) string {
	s = s[strings.LastIndex(s, fence)+len(fence):]
	_, after, _ := strings.Cut(s, "\n")
	return after
}

// fenceAfter says whether a block of code is open behind the text, and of what
// language.
func fenceAfter(s, lang string, open bool) (string, bool) {
	for {
		_, after, found := strings.Cut(s, fence)
		if !found {
			return lang, open
		}
		s, open, lang = after, !open, ""
		if line, _, whole := strings.Cut(s, "\n"); open && whole && len(line) <= 20 && langName(line) {
			lang = line
		}
	}
}

func langName(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+-_.#") == ""
}

// breakAt returns how many bytes of s, at most room characters and at least
// one, go into a piece.
func breakAt(s string, room int, lang string, open bool) int {
	room = max(room, 1)
	head := s[:byteAt(s, room)]
	// A paragraph or a line may leave more of the room free than a word.
	for _, end := range []struct {
		mark  string
		least int
	}{{"\n\n", len(head) / 2}, {"\n", len(head) / 3}, {" ", len(head) / 3}} {
		for i := strings.LastIndex(head, end.mark); i > end.least; i = strings.LastIndex(head[:i], end.mark) {
			at := i + len(end.mark)
			if _, inside := fenceAfter(head[:at], lang, open); inside && end.mark == "\n\n" {
				continue // a blank line within code is no paragraph's end
			}
			return at
		}
	}
	at := len(headOf(s[:byteAt(s, room+1)], room))
	for i := at; i > 0 && i > at-4; i-- {
		if s[i-1] != '`' && s[i-1] != '\\' && utf8.RuneStart(s[i]) {
			return i
		}
	}
	return max(at, byteAt(s, 1))
}

// byteAt returns where the n-th character ends.
func byteAt(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
