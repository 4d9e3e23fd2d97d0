package gitops

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxObject bounds the objects that are read whole: commits, trees and files
// of attributes.
const maxObject = 256 << 20

// objectReader asks one "git cat-file" for object after object. It is for one
// goroutine.
type objectReader struct {
	in  *os.File
	out *bufio.Reader
	raw *os.File
	// ended gives what the process ended with.
	ended <-chan error
	// end ends it, giveUp has it wait for the next who needs it.
	end, giveUp func()
	// failed is true where an answer wasn't read to its end.
	failed bool
	// commits are those that were read, by id.
	commits map[string]commitObject
}

// openObjects starts the process. It ends with ctx, or when it is stopped.
func openObjects(ctx context.Context, g *git, c command) (*objectReader, error) {
	in, raw, ended, err := g.converse(ctx, c)
	if err != nil {
		return nil, err
	}
	return &objectReader{
		in: in, raw: raw, out: bufio.NewReaderSize(raw, 64<<10), ended: ended,
		commits: make(map[string]commitObject),
	}, nil
}

// close gives the reader up.
func (o *objectReader) close() { o.giveUp() }

// stop ends the process, which has nothing left to do, and doesn't wait until it
// has.
func (o *objectReader) stop() {
	_, _ = o.in.Close(), o.raw.Close()
	o.end()
}

// over reports whether the process has ended.
func (o *objectReader) over() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
	}
}

// restful reports whether the process has answered all that it was asked, and
// forgets it.
func (o *objectReader) restful() bool {
	o.commits = make(map[string]commitObject)
	return !o.failed && o.out.Buffered() == 0
}

// get returns an object, which must be of that type.
func (o *objectReader) get(kind, id string) ([]byte, error) {
	if _, err := io.WriteString(o.in, asking(id)); err != nil {
		return nil, o.broken(err)
	}
	data, err := o.next(kind, id)
	o.failed = o.failed || err != nil
	return data, err
}

// asking is what the process is told to read objects. What it says waits until
// all is there.
func asking(names ...string) string {
	return "contents " + strings.Join(names, "\ncontents ") + "\nflush\n"
}

// next reads an answer.
func (o *objectReader) next(kind, id string) ([]byte, error) {
	_, data, err := o.named(kind, id)
	if err == nil && data == nil {
		err = fmt.Errorf("the %s %s can't be read: git doesn't have it", kind, id)
	}
	return data, err
}

// named reads the answer to a name that git understands, and says of which
// object it is: none where there is none of that name.
func (o *objectReader) named(kind, name string) (id string, data []byte, err error) {
	line, err := o.out.ReadString('\n')
	if err != nil {
		return "", nil, o.broken(err)
	}
	fields := strings.Fields(line)
	switch {
	case len(fields) == 2 && fields[1] == "missing":
		return "", nil, nil
	case len(fields) != 3 || fields[1] != kind:
		return "", nil, fmt.Errorf("the %s %s can't be read: git has it as %q", kind, name, strings.TrimSpace(line))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size > maxObject {
		return "", nil, fmt.Errorf("the %s %s has a size of %s", kind, name, fields[2])
	}
	data = make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return "", nil, o.broken(err)
	}
	return fields[0], data[:size], nil
}

// broken is the error where the process has ended before its time.
func (o *objectReader) broken(err error) error {
	o.failed = true
	_, _ = o.in.Close(), o.raw.Close()
	ended := <-o.ended
	closed := make(chan error)
	close(closed)
	o.ended = closed
	if ended != nil {
		return ended
	}
	return errors.Join(errors.New("git cat-file ended too soon"), err)
}

// prefetch reads commits, without waiting for one before asking for the next.
func (o *objectReader) prefetch(ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { _, known := o.commits[id]; return known })
	return o.all("commit", ids, func(i int, data []byte) error {
		o.commits[ids[i]] = parseCommit(ids[i], data)
		return nil
	})
}

// atOnce is how many commits of a line are read at a time.
const atOnce = shortLine / 2

// knowLines reads commits that aren't known, and with each those before it, by
// their first parents.
func (o *objectReader) knowLines(ids []string) error {
	var names []string
	for _, id := range ids {
		if _, known := o.commits[id]; known {
			continue
		}
		for i := range atOnce {
			names = append(names, fmt.Sprintf("%s~%d", id, i))
		}
	}
	return o.each(names, func(i int) error {
		id, data, err := o.named("commit", names[i])
		switch {
		case err == nil && data != nil:
			o.commits[id] = parseCommit(id, data)
		case err == nil && i%atOnce == 0:
			err = fmt.Errorf("the commit %s can't be read: git doesn't have it", names[i])
		}
		return err
	})
}

// all reads objects of one type in that order, without waiting for one before
// asking for the next.
func (o *objectReader) all(kind string, ids []string, each func(i int, data []byte) error) error {
	var bad error
	err := o.each(ids, func(i int) error {
		data, err := o.next(kind, ids[i])
		if err == nil && bad == nil {
			bad = each(i, data)
		}
		return err
	})
	return errors.Join(err, bad)
}

// each asks for all names, and has the answers read.
func (o *objectReader) each(names []string, read func(i int) error) error {
	if len(names) == 0 {
		return nil
	}
	asked := make(chan error, 1)
	go func() {
		_, err := io.WriteString(o.in, asking(names...))
		asked <- err
	}()
	for i := range names {
		if err := read(i); err != nil {
			o.failed = true
			return err
		}
	}
	return <-asked
}

// commit returns a commit.
func (o *objectReader) commit(id string) (commitObject, error) {
	if known, ok := o.commits[id]; ok {
		return known, nil
	}
	data, err := o.get("commit", id)
	if err != nil {
		return commitObject{}, err
	}
	o.commits[id] = parseCommit(id, data)
	return o.commits[id], nil
}
