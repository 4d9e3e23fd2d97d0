package gitops

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/threadtree/threadtree/workspace"
)

// commitObject is a commit as it lies in the repository.
type commitObject struct {
	id, tree string
	// parents are those that it names. git may see others, in a shallow clone
	// for one.
	parents []string
	// author is the line without its first word, in the commit's encoding,
	// and so is the message.
	author, message string
	// encoding is what the commit says of its text, "" for UTF-8.
	encoding string
}

// signed is what is kept of a commit that is made anew.
type signed struct{ author, message string }

// parseCommit reads the content of a commit object, as far as git reads it for
// a rebase: up to a NUL.
func parseCommit(id string, data []byte) commitObject {
	data, _, _ = bytes.Cut(data, []byte{0})
	header, message, _ := strings.Cut(string(data), "\n\n")
	c := commitObject{id: id, message: message}
	for line := range strings.SplitSeq(header, "\n") {
		key, value, _ := strings.Cut(line, " ")
		if key == "parent" && c.author == "" {
			c.parents = append(c.parents, value)
		}
		field := map[string]*string{"tree": &c.tree, "author": &c.author, "encoding": &c.encoding}[key]
		if field != nil && *field == "" {
			*field = value
		}
	}
	return c
}

// formatCommit is the content of a commit object. As git does, it takes what
// isn't UTF-8 for ISO 8859-1, byte by byte.
func formatCommit(tree string, parents []string, s signed, committer string) []byte {
	var b strings.Builder
	b.WriteString("tree " + tree + "\n")
	for _, p := range parents {
		b.WriteString("parent " + p + "\n")
	}
	b.WriteString("author " + s.author + "\ncommitter " + committer + "\n\n" + s.message)
	return []byte(repairUTF8(b.String()))
}

// replayed is what a rebase keeps of the commit: the author, and the message
// from its first line that isn't blank, both in UTF-8.
func (c commitObject) replayed() signed {
	decode, _ := decoder(c.encoding)
	return signed{author: decode(c.author), message: skipBlankLines(decode(c.message))}
}

// decodable reports whether the text can be brought to UTF-8 here.
func (c commitObject) decodable() bool {
	_, ok := decoder(c.encoding)
	return ok
}

// charmaps are the encodings, but for UTF-8, that have a character for every
// byte: there is one way to read them.
var charmaps = map[string]*charmap.Charmap{
	"iso-8859-1": charmap.ISO8859_1, "iso8859-1": charmap.ISO8859_1, "latin1": charmap.ISO8859_1, "latin-1": charmap.ISO8859_1,
	"iso-8859-2": charmap.ISO8859_2, "iso8859-2": charmap.ISO8859_2, "latin2": charmap.ISO8859_2,
	"iso-8859-5": charmap.ISO8859_5, "iso8859-5": charmap.ISO8859_5,
	"iso-8859-15": charmap.ISO8859_15, "iso8859-15": charmap.ISO8859_15,
	"koi8-r": charmap.KOI8R,
}

// decoder returns what brings text of an encoding to UTF-8. ok is false for an
// encoding that is git's business.
func decoder(encoding string) (decode func(string) string, ok bool) {
	same := func(text string) string { return text }
	if isUTF8(encoding) {
		return same, true
	}
	table := charmaps[strings.ToLower(encoding)]
	if table == nil {
		return same, false
	}
	return func(text string) string {
		var b strings.Builder
		for _, c := range []byte(text) {
			b.WriteRune(table.DecodeByte(c))
		}
		return b.String()
	}, true
}

// isUTF8 reports whether git takes the name of an encoding for UTF-8.
func isUTF8(encoding string) bool {
	return encoding == "" || strings.EqualFold(encoding, "utf-8") || strings.EqualFold(encoding, "utf8")
}

// repairUTF8 reads each byte that is no part of a character as ISO 8859-1. A
// character that Unicode has set aside counts as none.
func repairUTF8(text string) string {
	var b strings.Builder
	kept := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef {
			b.WriteString(text[kept:i])
			b.WriteRune(rune(text[i]))
			i++
			kept = i
			continue
		}
		i += size
	}
	if kept == 0 {
		return text
	}
	return b.String() + text[kept:]
}

// skipBlankLines drops the lines of white space at the beginning. Text without
// any other line is none at all.
func skipBlankLines(text string) string {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if strings.Trim(line, " \t\r") != "" {
			return text
		}
		text = rest
	}
	return ""
}

// info is the commit as it is shown to people.
func (c commitObject) info() workspace.CommitInfo {
	s := c.replayed()
	name, _, when := splitIdentity(repairUTF8(s.author))
	return workspace.CommitInfo{SHA: c.id, Subject: subject(repairUTF8(s.message)), Author: name, When: when}
}

// subject is the first paragraph of a message on one line.
func subject(message string) string {
	var lines []string
	for line := range strings.SplitSeq(skipBlankLines(message), "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " ")
}

// splitIdentity takes "Name <email> seconds zone" apart. The time is zero
// where there is none that can be read.
func splitIdentity(identity string) (name, email string, when time.Time) {
	end := strings.LastIndexByte(identity, '>')
	if end < 0 {
		return strings.TrimSpace(identity), "", time.Time{}
	}
	name, email, _ = strings.Cut(identity[:end], "<")
	stamp, zone, _ := strings.Cut(strings.TrimSpace(identity[end+1:]), " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return strings.TrimSpace(name), email, time.Time{}
	}
	offset := 0
	if n, err := strconv.Atoi(zone); err == nil {
		offset = (n/100*60 + n%100) * 60
	}
	return strings.TrimSpace(name), email, time.Unix(seconds, 0).In(time.FixedZone("", offset))
}
