package gitops

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // what an index ends in
	"encoding/binary"
	"errors"
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
	content := data[at : at+size]
	length, n := readVarint(content)
	if n == 0 || n+length > len(content) {
		return nil, errIndexForm
	}
	ident, found := bytes.CutPrefix(content[n:n+length], []byte("Location "+from+", "))
	if !found {
		return nil, errIndexForm
	}
	ident = append([]byte("Location "+to+", "), ident...)
	length2 := writeVarint(len(ident))
	changed := make([]byte, 0, len(data)+len(to)+8)
	changed = append(changed, data[:at-4]...)
	changed = binary.BigEndian.AppendUint32(changed, uint32(size-n-length+len(length2)+len(ident)))
	changed = append(append(append(changed, length2...), ident...), data[at+n+length:len(data)-indexIDLength]...)
	if end := data[len(data)-indexIDLength:]; bytes.Equal(end, make([]byte, indexIDLength)) {
		return append(changed, end...), nil // written without a sum
	}
	sum := sha1.Sum(changed) //nolint:gosec // what git ends an index in
	return append(changed, sum[:]...), nil
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
