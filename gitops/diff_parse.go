package gitops

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/threadtree/threadtree/workspace"
)

// parseNumstat reads the output of "git diff --numstat -z".
func parseNumstat(out []byte) ([]workspace.FileChange, error) {
	var files []workspace.FileChange
	for len(out) > 0 {
		record, rest, ok := bytes.Cut(out, []byte{0})
		fields := bytes.SplitN(record, []byte("\t"), 3)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("a line of the difference can't be read: %q", clip(record))
		}
		f := workspace.FileChange{Path: string(fields[2])}
		var err error
		if f.Added, err = lineCount(fields[0]); err == nil {
			f.Deleted, err = lineCount(fields[1])
		}
		if err != nil {
			return nil, fmt.Errorf("a line of the difference can't be read: %q: %w", clip(record), err)
		}
		if f.Path == "" {
			// A rename has its two paths after the counts.
			names := bytes.SplitN(rest, []byte{0}, 3)
			if len(names) != 3 || len(names[0]) == 0 || len(names[1]) == 0 {
				return nil, fmt.Errorf("the difference ends within a rename: %q", clip(rest))
			}
			f.From, f.Path, rest = string(names[0]), string(names[1]), names[2]
		}
		files, out = append(files, f), rest
	}
	return files, nil
}

// lineCount reads a number of lines; git has a dash for a binary file.
func lineCount(field []byte) (int, error) {
	if string(field) == "-" {
		return -1, nil
	}
	n, err := strconv.ParseUint(string(field), 10, 31)
	return int(n), err
}

// cutPatch shortens a patch that was cut anywhere: to whole lines, and to
// files whose header is whole.
func cutPatch(patch []byte) []byte {
	patch = patch[:bytes.LastIndexByte(patch, '\n')+1]
	// A line of content begins with a mark, so that this begins a file.
	last := bytes.LastIndex(patch, []byte("\ndiff --git ")) + 1
	if headerIsWhole(patch[last:]) {
		return patch
	}
	return patch[:last]
}

// headerIsWhole reports whether a file's part of a patch goes on after its
// header.
func headerIsWhole(part []byte) bool {
	for _, first := range []string{"\n@@ ", "\nBinary files ", "\nGIT binary patch"} {
		if bytes.Contains(part, []byte(first)) {
			return true
		}
	}
	return false
}
