package gitops

import (
	"path"
	"strings"
)

// includeLine is one line of .worktreeinclude that isn't blank or a comment.
type includeLine struct {
	// text is the line as git reads it.
	text string
	// negated is true for a line that takes files out again.
	negated bool
	// folders are the folders that the pattern names on the way to what it
	// matches, by their segments: "a/*/b.json" names a, but not a/*.
	folders [][]string
}

// parseInclude splits the file into its lines. What a line matches is for git
// to say; here it is only found out which folders it names, because an
// ignored folder is entered only if it is named: ".env" must not be looked for
// in all of node_modules.
func parseInclude(content string) []includeLine {
	var lines []includeLine
	for text := range strings.SplitSeq(strings.TrimPrefix(content, "\uFEFF"), "\n") {
		text = strings.TrimSuffix(text, "\r")
		if strings.TrimRight(text, " ") == "" || text[0] == '#' {
			continue
		}
		line := includeLine{text: text}
		if text[0] == '!' {
			line.negated = true
		} else {
			line.folders = namedFolders(text)
		}
		lines = append(lines, line)
	}
	return lines
}

func namedFolders(pattern string) [][]string {
	segments := strings.Split(strings.Trim(strings.TrimRight(pattern, " "), "/"), "/")
	var folders [][]string
	for i := 1; i < len(segments); i++ {
		if strings.Trim(segments[i-1], "*?") != "" {
			folders = append(folders, segments[:i])
		}
	}
	return folders
}

// names reports whether the line names the folder.
func (l includeLine) names(folder string) bool {
	segments := strings.Split(folder, "/")
	for _, pattern := range l.folders {
		if matchSegments(pattern, segments) {
			return true
		}
	}
	return false
}

// matchSegments matches a whole path, segment by segment, "**" standing for
// any number of them.
func matchSegments(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for i := range len(name) + 1 {
			if matchSegments(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(pattern[0], "[!", "[^"), name[0])
	return err == nil && ok && matchSegments(pattern[1:], name[1:])
}

// narrowed returns the lines that may pick files inside an ignored folder
// which no pattern matches as a whole: those that name the folder, and the
// negated ones. It is nil where none names it.
func narrowed(lines []includeLine, folder string) []includeLine {
	var kept []includeLine
	found := false
	for _, l := range lines {
		named := l.names(folder)
		found = found || named
		if named || l.negated {
			kept = append(kept, l)
		}
	}
	if !found {
		return nil
	}
	return kept
}

func includeText(lines []includeLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}
