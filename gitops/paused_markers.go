package gitops

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// hasMarkers reports whether a file has a conflict that git marked in it: the
// three markers in their order, each at the beginning of a line. A file that
// can't be read has none.
func hasMarkers(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	return marked(file)
}

// marked is hasMarkers for a content.
func marked(content io.Reader) bool {
	markers := [][]byte{[]byte("<<<<<<< "), []byte("======="), []byte(">>>>>>> ")}
	in := bufio.NewReaderSize(content, 64<<10)
	seen := 0
	for {
		line, err := in.ReadSlice('\n')
		switch {
		case bytes.HasPrefix(line, markers[0]):
			seen = 1
		case seen > 0 && bytes.HasPrefix(line, markers[seen]):
			seen++
		}
		if seen == len(markers) {
			return true
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n') // the rest of a long line
		}
		if err != nil {
			return false
		}
	}
}
