package gitops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// readState is the state of a snapshot.
type readState struct {
	// files are those that were kept as they are, by name.
	files map[string][]byte
	// modes are the permissions of files, as "0600 path".
	modes []string
	// converts is true where converted are the files that git converts when it
	// writes them, and all others are written as they are stored.
	converts  bool
	converted []string
	// present are files on disk that the index says aren't.
	present []string
	// skipped are the entries that the index says aren't on disk, where it
	// isn't kept itself.
	skipped []indexRun
	// intended are files that are only announced to the index.
	intended []string
}

func (w *writing) readState(ctx context.Context) (readState, error) {
	state := readState{files: make(map[string][]byte)}
	if w.parts.State == "" {
		return state, nil
	}
	out, err := w.r.git.run(ctx, w.command("ls-tree", "-z", w.parts.State+"^{tree}"))
	if err != nil {
		return state, err
	}
	var names, ids []string
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, name, _ := strings.Cut(record, "\t")
		if fields := strings.Fields(head); len(fields) == 3 && fields[1] == "blob" {
			names, ids = append(names, name), append(ids, fields[2])
		}
	}
	err = w.blobs(ctx, ids, func(i int, content io.Reader) error {
		state.files[names[i]], err = io.ReadAll(content)
		return err
	})
	state.modes, state.present = splitNUL(state.files[stateModes]), splitNUL(state.files[statePresent])
	skipped := splitNUL(state.files[stateSkipped])
	for i := 0; i+1 < len(skipped); i += 2 {
		state.skipped = append(state.skipped, indexRun{skipped[i], skipped[i+1]})
	}
	_, state.converts = state.files[stateConverted]
	state.converted = splitNUL(state.files[stateConverted])
	if flags, ok := scanIndex(state.files[stateIndex]); ok {
		state.intended = flags.intended
	}
	return state, err
}

// blobs reads objects, in order, as they come.
func (w *writing) blobs(ctx context.Context, ids []string, each func(i int, content io.Reader) error) error {
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := w.command("cat-file", "--batch")
	cmd.stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := w.r.git.stream(ctx, cmd, writer)
		_ = writer.CloseWithError(err)
		done <- err
	}()
	in := bufio.NewReaderSize(reader, 1<<16)
	for i, id := range ids {
		if err := nextBlob(in, id, func(content io.Reader) error { return each(i, content) }); err != nil {
			cancel()
			_ = reader.CloseWithError(err)
			return errors.Join(err, <-done)
		}
	}
	return <-done
}

// nextBlob reads one object of "git cat-file --batch".
func nextBlob(in *bufio.Reader, id string, each func(io.Reader) error) error {
	header, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return fmt.Errorf("the object %s can't be read: %s", id, strings.TrimSpace(header))
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return err
	}
	content := &io.LimitedReader{R: in, N: size}
	if err := each(content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	_, err = in.Discard(1)
	return err
}

// checkout writes the files that are as the index has them.
func (w *writing) checkout(ctx context.Context, state readState) error {
	commands := []command{w.command("checkout-index", "-q", "-f", "-u", "-a")}
	some := func(files []string) {
		if len(files) > 0 {
			cmd := w.command("checkout-index", "-q", "-f", "-u", "--ignore-skip-worktree-bits", "-z", "--stdin")
			cmd.stdin = bytes.NewReader(joinNUL(files))
			commands = append(commands, cmd)
		}
	}
	if state.converts {
		commands = nil
		some(state.converted)
	} else {
		some(state.present)
	}
	for _, cmd := range commands {
		if err := w.filtered(ctx, cmd); err != nil {
			return err
		}
	}
	if state.converts {
		return w.asStored(ctx, state)
	}
	return nil
}

// filtered runs a command that may need a filter, and does without where one
// fails.
func (w *writing) filtered(ctx context.Context, cmd command) error {
	var input []byte
	if cmd.stdin != nil {
		input, _ = io.ReadAll(cmd.stdin)
		cmd.stdin = bytes.NewReader(input)
	}
	_, err := w.r.git.run(ctx, cmd)
	if exitCode(err) <= 0 || ctx.Err() != nil {
		return err
	}
	off, offErr := w.r.withoutFilters(ctx, w.admin, w.directory)
	if offErr != nil || len(off) == 0 {
		return errors.Join(err, offErr)
	}
	w.plan.warn("a filter failed (%s): files that have one are as they are stored", because(err))
	cmd.config = append(cmd.config, off...)
	if input != nil {
		cmd.stdin = bytes.NewReader(input)
	}
	_, err = w.r.git.run(ctx, cmd)
	return err
}

// asStored writes the files that the index has, but for those that were
// converted, as they are stored.
func (w *writing) asStored(ctx context.Context, state readState) error {
	out, err := w.r.git.run(ctx, w.command("ls-files", "-s", "-t", "-z"))
	if err != nil {
		return err
	}
	skip := make(map[string]bool)
	for _, file := range state.converted {
		skip[file] = true
	}
	root, err := os.OpenRoot(w.directory)
	if err != nil {
		return err
	}
	defer root.Close()
	var files []indexStage
	var ids []string
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		head, file, _ := strings.Cut(record, "\t")
		fields := strings.Fields(head)
		if len(fields) != 4 || fields[3] != "0" || skip[file] {
			continue
		}
		if fields[1] == entryGitlink {
			err = errors.Join(err, root.MkdirAll(file, 0o777))
			continue
		}
		if fields[0] != "S" || slices.Contains(state.present, file) {
			files, ids = append(files, indexStage{fields[1], fields[2], file}), append(ids, fields[2])
		}
	}
	if err != nil {
		return err
	}
	return w.blobs(ctx, ids, func(i int, content io.Reader) error {
		return writeBelow(root, files[i].path, files[i].mode, content)
	})
}

// difference writes the files that are not as the index has them, with their
// very bytes.
func (w *writing) difference(ctx context.Context, state readState) error {
	edits, err := w.edits(ctx, state)
	if err != nil || len(edits) == 0 {
		return err
	}
	root, err := os.OpenRoot(w.directory)
	if err != nil {
		return err
	}
	defer root.Close()
	// What is gone or changed goes first: a directory may take the place of a
	// file, and the other way round.
	var there, ids []string
	for _, file := range slices.Sorted(maps.Keys(edits)) {
		if err := removeBelow(root, file); err != nil {
			return err
		}
		if mode := edits[file].after.mode; mode != "" && mode != noMode && mode != entryGitlink {
			there, ids = append(there, file), append(ids, edits[file].after.id)
		}
	}
	err = w.blobs(ctx, ids, func(i int, content io.Reader) error {
		return writeBelow(root, there[i], edits[there[i]].after.mode, content)
	})
	if err != nil {
		return err
	}
	for file, e := range edits {
		// A submodule is an empty directory until it is initialised.
		if e.after.mode == entryGitlink {
			if err := root.MkdirAll(file, 0o777); err != nil {
				return err
			}
		}
	}
	return w.chmod(root, state.modes)
}

// noMode is git's mode of a file that isn't there.
const noMode = "000000"

// edits are how the files differ from the index, by path.
func (w *writing) edits(ctx context.Context, state readState) (map[string]edit, error) {
	if w.parts.Work == "" {
		return nil, nil
	}
	out, err := w.r.git.run(ctx, w.command("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none",
		w.parts.Index+"^{tree}", w.parts.Work+"^{tree}"))
	if err != nil {
		return nil, err
	}
	edits, err := parseRaw(out)
	for _, file := range state.intended {
		if _, there := edits[file]; err == nil && !there {
			edits[file] = edit{} // announced, and deleted since
		}
	}
	return edits, err
}

// removeBelow removes a file and the directories that are empty without it.
func removeBelow(root *os.Root, file string) error {
	err := root.RemoveAll(file)
	if err != nil && !isAbsent(err) {
		return err
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// writeBelow writes a file of that mode where there is none.
func writeBelow(root *os.Root, file, mode string, content io.Reader) error {
	if dir := path.Dir(file); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if mode == entryLink {
		target, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		return root.Symlink(string(target), file)
	}
	perm := fs.FileMode(0o666)
	if mode == entryExecutable {
		perm = 0o777
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

// chmod gives files the permissions that they had.
func (w *writing) chmod(root *os.Root, modes []string) error {
	for _, line := range modes {
		octal, file, _ := strings.Cut(line, " ")
		perm, err := strconv.ParseUint(octal, 8, 32)
		if err == nil {
			err = root.Chmod(file, fs.FileMode(perm)&fs.ModePerm)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
