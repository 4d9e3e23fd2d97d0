package gitops

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// notes are those of so many files of one tree.
func notes(n int) []byte {
	var content bytes.Buffer
	for i := range n {
		noted{name: fmt.Appendf(nil, "d/%d\x00", i), mode: uint32(i), inode: uint64(i), size: int64(i), changed: int64(i)}.append(&content)
	}
	content.Write(make([]byte, notedFixed))
	return content.Bytes()
}

// TestSplitNoted reads as many notes as were written, however many there are,
// and none of what was cut off.
func TestSplitNoted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, notedTogether - 1, notedTogether, notedTogether + 1, 3*notedTogether + 5} {
		data := notes(n)
		parts, rest, ok := splitNoted(append(bytes.Clone(data), "next"...))
		if !ok || string(rest) != "next" {
			t.Fatalf("of %d: %t, followed by %q", n, ok, rest)
		}
		found := 0
		for _, part := range parts {
			for len(part) > 0 {
				var got noted
				got, part = firstNoted(part)
				if want := fmt.Sprintf("d/%d\x00", found); string(got.name) != want || got.mode != uint32(found) || got.inode != uint64(found) || got.size != int64(found) || got.changed != int64(found) {
					t.Fatalf("of %d, number %d: %+v", n, found, got)
				}
				found++
			}
		}
		if found != n {
			t.Errorf("%d of %d were found", found, n)
		}
		for cut := range len(data) {
			if _, _, ok := splitNoted(data[:cut]); ok {
				t.Fatalf("of %d, cut off at %d of %d: they are read all the same", n, cut, len(data))
			}
		}
	}
}

func FuzzSplitNoted(f *testing.F) {
	f.Add(notes(3))
	f.Add(binary.LittleEndian.AppendUint16(make([]byte, notedFixed-2), 9))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, rest, ok := splitNoted(data)
		if !ok {
			return
		}
		if together := bytes.Join(parts, nil); !bytes.HasPrefix(data, together) || len(together)+notedFixed+len(rest) != len(data) {
			t.Errorf("%q becomes %q and %q", data, parts, rest)
		}
		for _, part := range parts {
			for len(part) > 0 {
				_, part = firstNoted(part)
			}
		}
	})
}

// TestUntouchedInLargeTrees sees a change wherever it is among many files.
func TestUntouchedInLargeTrees(t *testing.T) {
	t.Parallel()
	root, list := filepath.Join(t.TempDir(), "root"), filepath.Join(t.TempDir(), "list")
	path := func(i int) string { return filepath.Join(root, fmt.Sprintf("d%d/f%d", i%7, i)) }
	const n = 2*notedTogether + 9
	for i := range n {
		if err := os.MkdirAll(filepath.Dir(path(i)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(i), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	of := tree{root: root}
	for _, i := range []int{0, n / 2, n - 1} {
		if _, err := noteFiles(list, of); err != nil {
			t.Fatal(err)
		}
		if same, err := untouched(list, of); err != nil || !same {
			t.Fatalf("untouched: %t, %v", same, err)
		}
		info, err := os.Lstat(path(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(i), []byte("2"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path(i), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if same, err := untouched(list, of); err != nil || same {
			t.Errorf("file %d was changed: untouched: %t, %v", i, same, err)
		}
	}
}
