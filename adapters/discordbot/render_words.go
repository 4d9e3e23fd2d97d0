package discordbot

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/threadtree/threadtree/workspace"
)

// contentMax is how many characters a message may have.
const contentMax = 2000

// plain puts a text on one line and escapes it to at most max characters.
func plain(s string, max int) string { return fitted(escape, oneLine(s), max) }

// codeOf returns a text as inline code of at most max characters.
func codeOf(s string, max int) string { return fitted(code, oneLine(s), max) }

// fitted clips the text until what draw makes of it has at most max
// characters.
func fitted(draw func(string) string, s string, max int) string {
	for n := max; ; n = n * 3 / 4 {
		if out := draw(clip(s, n)); n == 0 || utf8.RuneCountInString(out) <= max {
			return out
		}
	}
}

// isolated keeps a name that is written from right to left from turning what
// stands around it.
func isolated(raw, drawn string) string {
	if strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko)
	}) {
		return "\u2068" + drawn + "\u2069"
	}
	return drawn
}

// threadRef names a thread, by a link if there is one.
func threadRef(id string, link func(string) string) string {
	target := ""
	if link != nil && id != "" {
		target = link(id)
	}
	switch {
	case target == "":
		return codeOf(id, 60)
	case strings.HasPrefix(target, "http"):
		return "[thread](<" + target + ">)"
	}
	return target
}

// snowflakes finds the threads that a sentence speaks of.
var snowflakes = regexp.MustCompile(`\b[Tt]hread \d{15,20}(, \d{15,20})*\b`)

// prose escapes a sentence of the library, makes it begin and end as one, and
// links the threads in it.
func prose(s string, max int, link func(string) string) string {
	s = plain(s, max)
	if r, n := utf8.DecodeRuneInString(s); unicode.IsLower(r) && !strings.ContainsAny(firstWord(s), "/.\\_:") {
		s = string(unicode.ToUpper(r)) + s[n:]
	}
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	if link == nil {
		return s
	}
	return snowflakes.ReplaceAllStringFunc(s, func(found string) string {
		word, all, _ := strings.Cut(found, " ")
		ids := strings.Split(all, ", ")
		for i, id := range ids {
			switch target := link(id); {
			case target == "":
				return found
			case strings.HasPrefix(target, "http"):
				// The link is the word.
				ids[i] = "[" + word + "](<" + target + ">)"
			case i == 0:
				ids[i] = word + " " + target
			default:
				ids[i] = target
			}
		}
		return strings.Join(ids, ", ")
	})
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// ago says how long ago something was, in its two largest units.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	if d < time.Minute {
		return "just now"
	}
	return lasting(d) + " ago"
}

// lasting says how long a time is, in its two largest units.
func lasting(d time.Duration) string {
	day, hour, minute := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60
	switch {
	case day >= 30:
		return fmt.Sprintf("%dd", day)
	case day > 0:
		return units(day, "d", hour, "h")
	case hour > 0:
		return units(hour, "h", minute, "m")
	}
	return fmt.Sprintf("%dm", minute)
}

func units(n int, unit string, rest int, part string) string {
	if rest == 0 {
		return fmt.Sprintf("%d%s", n, unit)
	}
	return fmt.Sprintf("%d%s %d%s", n, unit, rest, part)
}

// folderOf returns the last two parts of a path.
func folderOf(dir string) string {
	parts := strings.FieldsFunc(dir, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) > 2 {
		parts = append([]string{"…"}, parts[len(parts)-2:]...)
	}
	return strings.Join(parts, "/")
}

func shortSHA(sha string) string { return sha[:min(len(sha), 7)] }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// text is a message that grows line by line and stays within a limit: what
// doesn't fit is left out, and a last line says so.
type text struct {
	lines []string
	used  int
	max   int
	cut   bool
}

const cutNote = "-# … more than fits here"

func (t *text) addf(format string, args ...any) { t.add(fmt.Sprintf(format, args...)) }

func (t *text) add(line string) {
	n := utf8.RuneCountInString(line) + 1
	if t.cut || t.used+n > t.max-len(cutNote) {
		t.cut = true
		return
	}
	t.lines, t.used = append(t.lines, line), t.used+n
}

// addList adds at most n lines and counts the rest.
func (t *text) addList(lines []string, n int, what string) {
	for i, line := range lines {
		if i == n {
			t.addf("-# … and %s", counted(len(lines)-n, "more "+what))
			return
		}
		t.add("- " + line)
	}
}

func (t *text) String() string {
	if t.cut {
		return strings.Join(append(t.lines, cutNote), "\n")
	}
	return strings.Join(t.lines, "\n")
}

// codesOf draws each text as inline code.
func codesOf(texts []string, max int) []string {
	var out []string
	for _, s := range texts {
		out = append(out, codeOf(s, max))
	}
	return out
}

// commitLine draws a commit.
func commitLine(c workspace.CommitInfo) string {
	return code(shortSHA(c.SHA)) + " " + plain(c.Subject, 120)
}
