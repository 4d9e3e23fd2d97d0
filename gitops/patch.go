package gitops

import (
	"bytes"
	"crypto/sha256"
	"hash"
	"strings"
)

// patch is what one record of "git diff-tree --stdin -p" changes.
type patch struct {
	commit string
	// id is the same for patches that make the same change, wherever the
	// lines stand in their files.
	id [sha256.Size]byte
	// path is the first path that is changed, "" where it can't be told.
	path string
	// empty is true where nothing is changed.
	empty bool
}

// patchScanner reads the output of "git diff-tree --stdin -p --always" as it
// is written to it. It hashes each patch without the positions of its hunks;
// unlike git's own patch ids, white space counts, and of a binary file the
// object ids.
type patchScanner struct {
	patches []patch
	partial []byte
	sum     hash.Hash
	index   []byte
}

// Write takes the next part of the output. It never fails.
func (s *patchScanner) Write(p []byte) (int, error) {
	rest := p
	for {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			s.partial = append(s.partial, rest...)
			return len(p), nil
		}
		if len(s.partial) > 0 {
			line = append(s.partial, line...)
		}
		s.line(line)
		s.partial = s.partial[:0]
		rest = after
	}
}

// finish returns the patches in the order of the input.
func (s *patchScanner) finish() []patch {
	if len(s.partial) > 0 {
		s.line(s.partial)
		s.partial = nil
	}
	s.end()
	return s.patches
}

func (s *patchScanner) end() {
	if s.sum != nil {
		s.sum.Sum(s.patches[len(s.patches)-1].id[:0])
	}
}

func (s *patchScanner) line(line []byte) {
	if (len(line) == 40 || len(line) == 64) && isObjectID(string(line)) {
		s.end()
		s.sum = sha256.New()
		s.patches = append(s.patches, patch{commit: string(line), empty: true})
		return
	}
	if s.sum == nil {
		return
	}
	current := &s.patches[len(s.patches)-1]
	switch {
	case bytes.HasPrefix(line, []byte("diff --git ")):
		if current.empty {
			current.path = pathOfDiff(string(line))
		}
		current.empty = false
	case bytes.HasPrefix(line, []byte("index ")):
		s.index = append(s.index[:0], line...)
		return
	case bytes.HasPrefix(line, []byte("Binary files ")):
		s.sum.Write(s.index)
	case bytes.HasPrefix(line, []byte("@@ ")):
		line = line[:2]
	}
	s.sum.Write(line)
	s.sum.Write([]byte("\n"))
}

// pathOfDiff returns the path in a line such as "diff --git a/x b/x", "" if
// git has quoted it.
func pathOfDiff(line string) string {
	names := strings.TrimPrefix(line, "diff --git ")
	half := len(names) / 2
	if len(names)%2 == 0 || half < 3 || names[half] != ' ' {
		return ""
	}
	a, ok := strings.CutPrefix(names[:half], "a/")
	if b := strings.TrimPrefix(names[half+1:], "b/"); !ok || a != b {
		return ""
	}
	return a
}
