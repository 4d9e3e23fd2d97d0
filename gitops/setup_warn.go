package gitops

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namesShown is how many files a warning names.
const namesShown = 5

// skips are the files that were not copied, by the reason.
type skips struct {
	reasons []string
	names   map[string][]string
}

func (s *skips) add(reason, name string) {
	if s.names == nil {
		s.names = make(map[string][]string)
	}
	if s.names[reason] == nil {
		s.reasons = append(s.reasons, reason)
	}
	s.names[reason] = append(s.names[reason], name)
}

// addError adds a file with the innermost cause as the reason, so that the
// files of one reason stand together.
func (s *skips) addError(name string, err error) { s.add(rootCause(err).Error(), name) }

func (s *skips) warnings() []string {
	var lines []string
	for _, reason := range s.reasons {
		names := s.names[reason]
		lines = append(lines, fmt.Sprintf("%s not copied: %s (%s)",
			plural(len(names), "ignored file"), nameSome(names), reason))
	}
	return lines
}

func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// nameSome names the first of the files, sorted, and counts the others.
func nameSome(names []string) string {
	names = slices.Sorted(slices.Values(names))
	shown := names[:min(len(names), namesShown)]
	quoted := make([]string, len(shown))
	for i, n := range shown {
		quoted[i] = printable(n)
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// printable returns a name that can be shown on one line.
func printable(name string) string {
	bad := func(c rune) bool { return !unicode.IsPrint(c) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return strconv.Quote(name)
	}
	return name
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// byteSize says a size as a person would.
func byteSize(n int64) string {
	const unit = 1000
	if n < unit {
		return plural(int(n), "byte")
	}
	size, units := float64(n)/unit, []string{"kB", "MB", "GB", "TB"}
	for size >= unit && len(units) > 1 {
		size, units = size/unit, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
