package gitops

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
)

// packTypes are the types of objects as a pack has them.
var packTypes = map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4}

// pack is a pack of objects.
type pack struct {
	data []byte
	// offsets are where the objects begin, and crcs the checksums of what is
	// in the pack of them, both in the order they were given.
	offsets []uint32
	crcs    []uint32
	// sum is the checksum of all, which data ends with.
	sum []byte
}

// pack makes a pack of objects, each whole.
func (q *quarantine) pack(objects []object) (pack, error) {
	var p pack
	var out bytes.Buffer
	out.WriteString("PACK")
	out.Write(binary.BigEndian.AppendUint32(nil, 2))
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(objects))))
	for _, o := range objects {
		start := out.Len()
		out.Write(packHeader(packTypes[o.kind], len(o.data)))
		if err := q.deflate(&out, o.data); err != nil {
			return pack{}, err
		}
		p.offsets = append(p.offsets, uint32(start))
		p.crcs = append(p.crcs, crc32.ChecksumIEEE(out.Bytes()[start:]))
	}
	if out.Len() >= 1<<31 {
		return pack{}, errors.New("what was made is too much for one pack")
	}
	sum := q.newHash()
	sum.Write(out.Bytes())
	p.sum = sum.Sum(nil)
	p.data = append(out.Bytes(), p.sum...)
	return p, nil
}

// index makes the index of a pack, of version 2: how many ids begin with each
// byte or a lesser one, the ids in order, the checksums, and the offsets.
func (q *quarantine) index(p pack, ids []string) ([]byte, error) {
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	var counts [256]uint32
	var names, crcs, offsets []byte
	for _, i := range order {
		raw, err := unhex(ids[i])
		if err != nil {
			return nil, err
		}
		counts[raw[0]]++
		names = append(names, raw...)
		crcs = binary.BigEndian.AppendUint32(crcs, p.crcs[i])
		offsets = binary.BigEndian.AppendUint32(offsets, p.offsets[i])
	}
	out := []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}
	total := uint32(0)
	for _, n := range counts {
		total += n
		out = binary.BigEndian.AppendUint32(out, total)
	}
	out = slices.Concat(out, names, crcs, offsets, p.sum)
	sum := q.newHash()
	sum.Write(out)
	return sum.Sum(out), nil
}

// packHeader is the type and the size of an object in a pack: four bits of the
// size beside the type, then seven a byte.
func packHeader(kind byte, size int) []byte {
	first := kind<<4 | byte(size&0x0f)
	size >>= 4
	if size == 0 {
		return []byte{first}
	}
	return binary.AppendUvarint([]byte{first | 0x80}, uint64(size))
}
