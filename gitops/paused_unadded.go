package gitops

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
)

// edited returns those of the unmerged files that both sides have and that
// somebody has edited until no marker was left: all they lack is to be added.
// Where that can't be found out there are none.
func (m *merging) edited(ctx context.Context, unmerged []string) []string {
	out, err := m.r.git.run(ctx, m.reading("ls-files", "--unmerged", "-z"))
	if err != nil {
		return nil
	}
	sides := make(map[string][]string)
	for record := range strings.SplitSeq(string(out), "\x00") {
		head, path, _ := strings.Cut(record, "\t")
		if fields := strings.Fields(head); len(fields) == 3 && (fields[2] == "2" || fields[2] == "3") {
			sides[path] = append(sides[path], fields[1])
		}
	}
	var found []string
	for _, path := range unmerged {
		if len(sides[path]) != 2 || !isText(m.at.path(path)) || hasMarkers(m.at.path(path)) {
			continue
		}
		id, err := m.r.git.line(ctx, m.reading("hash-object", "--", path))
		// One side as it is may be what git left of a file that it can't mark.
		if err == nil && !slices.Contains(sides[path], id) {
			found = append(found, path)
		}
	}
	return found
}

// reading is a git command in the workspace that writes nothing, and needs no
// settings.
func (m *merging) reading(args ...string) command {
	return command{dir: m.at.top, env: m.at.lookup(), args: args, inherit: m.inherit()}
}

// isText reports whether a file is one in which git would mark a conflict.
func isText(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 8000))
	return err == nil && !bytes.Contains(head, []byte{0})
}
