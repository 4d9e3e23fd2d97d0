package gitops

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxObject bounds the objects that are read whole: commits, trees and files
// of attributes.
const maxObject = 256 << 20

// objectReader asks one "git cat-file --batch" for object after object. It is
// for one goroutine.
type objectReader struct {
	in  *os.File
	out *bufio.Reader
	raw *os.File
	// ended gives what the process ended with.
	ended <-chan error
	// commits are those that were read, by id.
	commits map[string]commitObject
}

// openObjects starts the process. It ends with ctx, or with close.
func openObjects(ctx context.Context, g *git, c command) (*objectReader, error) {
	// Pipes of the system's own, which the process gets as they are: nothing
	// in between has to copy.
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	raw, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), in.Close()
		return nil, err
	}
	c.stdin = stdin
	ended := make(chan error, 1)
	go func() {
		err := g.stream(ctx, c, stdout)
		_, _ = stdin.Close(), stdout.Close()
		ended <- err
	}()
	return &objectReader{
		in: in, raw: raw, out: bufio.NewReaderSize(raw, 64<<10), ended: ended,
		commits: make(map[string]commitObject),
	}, nil
}

// close ends the process and waits for it.
func (o *objectReader) close() {
	_, _ = o.in.Close(), o.raw.Close()
	<-o.ended
}

// get returns an object, which must be of that type.
func (o *objectReader) get(kind, id string) ([]byte, error) {
	if _, err := io.WriteString(o.in, id+"\n"); err != nil {
		return nil, o.broken(err)
	}
	return o.next(kind, id)
}

// next reads an answer.
func (o *objectReader) next(kind, id string) ([]byte, error) {
	line, err := o.out.ReadString('\n')
	if err != nil {
		return nil, o.broken(err)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[1] != kind {
		return nil, fmt.Errorf("the %s %s can't be read: git has it as %q", kind, id, strings.TrimSpace(line))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size < 0 || size > maxObject {
		return nil, fmt.Errorf("the %s %s has a size of %s", kind, id, fields[2])
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, data); err != nil {
		return nil, o.broken(err)
	}
	return data[:size], nil
}

// broken is the error where the process has ended before its time.
func (o *objectReader) broken(err error) error {
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
	return o.all("commit", ids, func(i int, data []byte) error {
		o.commits[ids[i]] = parseCommit(ids[i], data)
		return nil
	})
}

// all reads objects of one type in that order, without waiting for one before
// asking for the next.
func (o *objectReader) all(kind string, ids []string, each func(i int, data []byte) error) error {
	if len(ids) == 0 {
		return nil
	}
	asked := make(chan error, 1)
	go func() {
		_, err := io.WriteString(o.in, strings.Join(ids, "\n")+"\n")
		asked <- err
	}()
	var bad error
	for i, id := range ids {
		data, err := o.next(kind, id)
		if err != nil {
			return err
		}
		if bad == nil {
			bad = each(i, data)
		}
	}
	return errors.Join(bad, <-asked)
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
