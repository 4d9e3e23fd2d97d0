package gitops

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // what an index ends in
	"encoding"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// errIndexForm says that an index has a form in which only git can change it.
var errIndexForm = errors.New("the index is of a form that only git can change")

// relocateIndex has an index that keeps track of untracked files say where its
// worktree is now: git notes the place in it, and complains with each status
// where it is another. The entries stay as they are. An index that keeps no
// track stays untouched.
func relocateIndex(admin, from, to string) error {
	path := filepath.Join(admin, "index")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(data, []byte("UNTR")) {
		return nil
	}
	relocated, err := relocated(data, from, to)
	if err != nil || bytes.Equal(relocated, data) {
		return err
	}
	return replaceLike(path, relocated)
}

// relocated is relocateIndex for the content.
func relocated(data []byte, from, to string) ([]byte, error) {
	at, size, err := untrackedAt(data)
	if err != nil || at == 0 {
		return data, err
	}
	changed := append(make([]byte, 0, len(data)+len(to)+8), data[:at-4]...)
	changed, err = relocatedTail(changed, data[at-4:len(data)-indexIDLength], size, from, to)
	if err != nil {
		return nil, err
	}
	if end := data[len(data)-indexIDLength:]; bytes.Equal(end, make([]byte, indexIDLength)) {
		return append(changed, end...), nil // written without a sum
	}
	sum := sha1.Sum(changed) //nolint:gosec // what git ends an index in
	return append(changed, sum[:]...), nil
}

// relocatedTail appends what an index has from the length of that extension on,
// without the sum at its end.
func relocatedTail(to, tail []byte, size int, from, place string) ([]byte, error) {
	if len(tail) < 4+size {
		return nil, errIndexForm
	}
	content := tail[4 : 4+size]
	length, n := readVarint(content)
	if n == 0 || n+length > len(content) {
		return nil, errIndexForm
	}
	rest, found := bytes.CutPrefix(content[n:n+length], []byte("Location "+from+", "))
	if !found {
		return nil, errIndexForm
	}
	ident := append([]byte("Location "+place+", "), rest...)
	encoded := writeVarint(len(ident))
	to = binary.BigEndian.AppendUint32(to, uint32(size-n-length+len(encoded)+len(ident)))
	to = append(append(to, encoded...), ident...)
	return append(to, tail[4+n+length:]...), nil
}

// indexHint is where in an index the note of the worktree's place begins, and
// the sum of all before it, so that the rest alone has to be written anew.
type indexHint struct {
	// At is where the length of the extension stands, Size that length, and
	// Length that of the whole index.
	At     int    `json:"at"`
	Size   int    `json:"size"`
	Length int    `json:"length"`
	Sum    []byte `json:"sum"`
}

// hintOf returns the hint for an index, nil where there is nothing to relocate
// in it, or all of it has to be read for that.
func hintOf(admin string) *indexHint {
	data, err := os.ReadFile(filepath.Join(admin, "index"))
	if err != nil {
		return nil
	}
	at, size, err := untrackedAt(data)
	if err != nil || at == 0 || bytes.Equal(data[len(data)-indexIDLength:], make([]byte, indexIDLength)) {
		return nil
	}
	sum := sha1.New() //nolint:gosec // what git ends an index in
	_, _ = sum.Write(data[:at-4])
	state, ok := sum.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	before, err := state.MarshalBinary()
	if err != nil {
		return nil
	}
	return &indexHint{At: at - 4, Size: size, Length: len(data), Sum: before}
}

// relocate is relocateIndex in place, for an index that is as it was when the
// hint was made, and that nobody reads meanwhile.
func (h *indexHint) relocate(admin, from, to string) error {
	f, err := os.OpenFile(filepath.Join(admin, "index"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tail, err := io.ReadAll(io.NewSectionReader(f, int64(h.At), int64(h.Length)))
	if err != nil {
		return err
	}
	if len(tail) != h.Length-h.At || h.Length-h.At < indexIDLength {
		return errIndexForm
	}
	changed, err := relocatedTail(nil, tail[:len(tail)-indexIDLength], h.Size, from, to)
	if err != nil {
		return err
	}
	sum := sha1.New() //nolint:gosec // what git ends an index in
	state, ok := sum.(encoding.BinaryUnmarshaler)
	if !ok || state.UnmarshalBinary(h.Sum) != nil {
		return errIndexForm
	}
	_, _ = sum.Write(changed)
	changed = sum.Sum(changed)
	if _, err = f.WriteAt(changed, int64(h.At)); err == nil {
		err = f.Truncate(int64(h.At + len(changed)))
	}
	return errors.Join(err, f.Close())
}

// untrackedAt finds the content of the extension that keeps track of untracked
// files, at 0 where there is none.
func untrackedAt(data []byte) (at, size int, err error) {
	if len(data) < indexHeader+indexIDLength || string(data[:4]) != "DIRC" {
		return 0, 0, errIndexForm
	}
	var flags hiddenFlags
	s := indexScanner{data: data[:len(data)-indexIDLength], at: indexHeader, version: binary.BigEndian.Uint32(data[4:])}
	for range binary.BigEndian.Uint32(data[8:]) {
		if s.version < 2 || s.version > 4 || !s.entry(&flags) {
			return 0, 0, errIndexForm
		}
	}
	end := false
	start := s.at
	whole := s.complete(func(signature string, content []byte) {
		start += 8
		switch signature {
		case "UNTR":
			at, size = start, len(content)
		case "EOIE":
			end = true // a sum over the sizes of the others
		}
		start += len(content)
	})
	if !whole || end {
		return 0, 0, errIndexForm
	}
	return at, size, nil
}

// readVarint reads a number as git writes it there, and returns how many bytes
// it has, 0 where it is none.
func readVarint(b []byte) (value, n int) {
	for i, c := range b {
		if i > 4 {
			break
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

func writeVarint(value int) []byte {
	b := []byte{byte(value & 0x7f)}
	for value >>= 7; value > 0; value >>= 7 {
		value--
		b = append([]byte{byte(0x80 | value&0x7f)}, b...)
	}
	return b
}
