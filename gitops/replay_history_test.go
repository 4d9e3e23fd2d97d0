package gitops

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
)

// history writes a random history for git fast-import: the branch main, and
// topic that left it some commits ago. The same seed gives the same history.
type history struct {
	rnd    *rand.Rand
	stream bytes.Buffer
	marks  int
	clock  int
	// unrelated is true where the sides have no commit in common.
	unrelated bool
	// picked are changes of main that topic may make as well.
	picked []func(files)
}

// files are the files of one commit by their paths.
type files map[string]file

type file struct{ mode, content string }

func newHistory(seed uint64) *history {
	h := &history{rnd: rand.New(rand.NewPCG(seed, 77)), clock: 1700000000}
	base := h.firstFiles()
	fork := h.commit("refs/heads/main", 0, base, nil)
	main, topic := maps.Clone(base), maps.Clone(base)
	from := fork
	if h.unrelated = h.one(25); h.unrelated {
		from, topic = 0, files{}
		for _, p := range slices.Sorted(maps.Keys(base)) {
			if h.one(2) {
				topic["own-"+p] = base[p]
			}
		}
	}
	at := fork
	for range h.rnd.IntN(4) + 1 {
		before := maps.Clone(main)
		changes := h.changes(main, h.rnd.IntN(4)+1)
		h.picked = append(h.picked, changes...)
		at = h.commit("refs/heads/main", at, main, before)
	}
	at = from
	for range h.rnd.IntN(5) + 1 {
		before := maps.Clone(topic)
		switch {
		case h.one(12): // an empty commit
		case h.one(5) && len(h.picked) > 0:
			h.picked[h.rnd.IntN(len(h.picked))](topic)
		default:
			h.changes(topic, h.rnd.IntN(3)+1)
		}
		if at == 0 {
			before = files{}
		}
		at = h.commit("refs/heads/topic", at, topic, before)
	}
	return h
}

// load runs it into the repository of a fixture and checks topic out.
func (h *history) load(f *fixture) {
	f.t.Helper()
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Env, cmd.Stdin = f.dir, f.env, &h.stream
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("fast-import: %v\n%s", err, out)
	}
	f.git("checkout", "-q", "-f", "topic")
}

func (h *history) one(in int) bool { return h.rnd.IntN(in) == 0 }

func choose[T any](h *history, from ...T) T { return from[h.rnd.IntN(len(from))] }

func (h *history) firstFiles() files {
	fs := files{}
	for _, p := range []string{"a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "dir/sub/e.txt", "deep/x/y/f.txt", "deep/g.c", "caf\xe9/h.txt", "wide/1.txt", "wide/2.txt", "wide/3.txt"} {
		fs[p] = file{"100644", h.text(p)}
	}
	fs["run.sh"] = file{"100755", "#!/bin/sh\n" + h.text("run")}
	fs["link"] = file{"120000", "a.txt"}
	fs["bin"] = file{"100644", "\x00\x01binary " + h.text("bin")}
	fs["crlf.txt"] = file{"100644", strings.ReplaceAll(h.text("crlf"), "\n", "\r\n")}
	if h.one(4) {
		fs["mod"] = file{"160000", h.object()}
	}
	if h.one(3) {
		h.setAttributes(fs)
	}
	return fs
}

// text is some lines that no other file has.
func (h *history) text(name string) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "%s line %d\n", name, i)
	}
	return b.String()
}

func (h *history) object() string { return fmt.Sprintf("%040x", h.rnd.Uint64()|1) }

// changes makes n changes and returns them, to be made elsewhere as well.
func (h *history) changes(fs files, n int) []func(files) {
	var all []func(files)
	for range n {
		before := maps.Clone(fs)
		h.change(fs)
		after := maps.Clone(fs)
		all = append(all, func(other files) { transplant(before, after, other) })
	}
	return all
}

// transplant makes in other the change from before to after.
func transplant(before, after, other files) {
	for p := range before {
		if _, kept := after[p]; !kept {
			delete(other, p)
		}
	}
	for p, f := range after {
		if before[p] != f {
			other.set(p, f)
		}
	}
}

// set puts a file in place, and removes what can't be beside it.
func (fs files) set(path string, f file) {
	for p := range fs {
		if strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			delete(fs, p)
		}
	}
	fs[path] = f
}

func (h *history) some(fs files) string {
	paths := slices.Sorted(maps.Keys(fs))
	if len(paths) == 0 {
		return "none"
	}
	return paths[h.rnd.IntN(len(paths))]
}

// change makes one random change.
func (h *history) change(fs files) {
	p := h.some(fs)
	f, there := fs[p]
	switch n := h.rnd.IntN(24); {
	case !there || n < 3:
		fs.set(choose(h, "", "dir/", "dir/sub/", "wide/", "new/", "deep/x/")+fmt.Sprintf("n%d.txt", h.rnd.IntN(4)), file{"100644", h.text(fmt.Sprint("new", h.rnd.IntN(3)))})
	case n < 11:
		fs[p] = h.edited(f)
	case n < 13:
		delete(fs, p)
	case n < 15:
		delete(fs, p)
		if h.one(2) {
			f = h.edited(f)
		}
		fs.set(choose(h, "", "dir/", "moved/", "wide/")+fmt.Sprintf("r%d.txt", h.rnd.IntN(3)), f)
	case n < 17:
		h.moveDirectory(fs)
	case n == 17 && f.mode != "120000" && f.mode != "160000":
		f.mode = choose(h, "100644", "100755")
		fs[p] = f
	case n == 18:
		fs.set(choose(h, p, "link", "dir/link"), file{"120000", choose(h, "a.txt", "b.txt", "nowhere")})
	case n == 19:
		fs.set("mod", file{"160000", h.object()})
	case n == 20:
		fs.set(p, file{"100644", "\x00" + h.text(fmt.Sprint("binary", h.rnd.IntN(3)))})
	case n == 21:
		fs.set(choose(h, p+"/below.txt", "dir", "wide"), file{"100644", h.text("in the way")})
	default:
		h.setAttributes(fs)
	}
}

// moveDirectory renames a directory, or a part of it.
func (h *history) moveDirectory(fs files) {
	from := choose(h, "dir/", "dir/sub/", "wide/", "deep/", "deep/x/", "new/")
	to := choose(h, "moved/", "dir/other/", "deep/z/", "away/")
	for _, p := range slices.Sorted(maps.Keys(fs)) {
		if rest, ok := strings.CutPrefix(p, from); ok && !h.one(6) {
			f := fs[p]
			delete(fs, p)
			fs.set(to+rest, f)
		}
	}
}

// edited changes a line, or adds or removes one.
func (h *history) edited(f file) file {
	if f.mode == "160000" {
		return file{f.mode, h.object()}
	}
	if f.mode == "120000" {
		return file{f.mode, choose(h, "a.txt", "b.txt", "elsewhere")}
	}
	lines := strings.SplitAfter(f.content, "\n")
	i := h.rnd.IntN(len(lines))
	switch h.rnd.IntN(4) {
	case 0:
		lines = slices.Insert(lines, i, fmt.Sprintf("added %d\n", h.rnd.IntN(3)))
	case 1:
		lines = slices.Delete(lines, i, i+1)
	case 2:
		lines[i] = strings.ReplaceAll(lines[i], " ", "  ")
	default:
		lines[i] = fmt.Sprintf("changed %d\n", h.rnd.IntN(3))
	}
	return file{f.mode, strings.Join(lines, "")}
}

func (h *history) setAttributes(fs files) {
	place := choose(h, "", "", "dir/", "wide/", "moved/")
	var b strings.Builder
	for range h.rnd.IntN(3) {
		fmt.Fprintf(&b, "%s %s\n", choose(h, "*.txt", "a*", "*", "dir/**", "bin"),
			choose(h, "merge=union", "-merge", "merge=keep", "merge=both", "merge=text", "-text", "conflict-marker-size=9"))
	}
	fs.set(place+".gitattributes", file{choose(h, "100644", "100644", "100755"), b.String()})
}

// commit writes a commit and returns its mark. before is nil for the first.
func (h *history) commit(ref string, from int, fs, before files) int {
	h.marks++
	h.clock += h.rnd.IntN(1000) + 1
	if from == 0 {
		fmt.Fprintf(&h.stream, "reset %s\n\n", ref)
	}
	encoding, author, message := h.words()
	fmt.Fprintf(&h.stream, "commit %s\nmark :%d\nauthor %s %d %s\ncommitter Cyd <cyd@example.org> %d +0000\n",
		ref, h.marks, author, h.clock, choose(h, "+0000", "-0330", "+1345", "+0200"), h.clock)
	if encoding != "" {
		fmt.Fprintf(&h.stream, "encoding %s\n", encoding)
	}
	fmt.Fprintf(&h.stream, "data %d\n%s\n", len(message), message)
	if from != 0 {
		fmt.Fprintf(&h.stream, "from :%d\n", from)
	}
	for _, p := range slices.Sorted(maps.Keys(before)) {
		if _, kept := fs[p]; !kept {
			fmt.Fprintf(&h.stream, "D %s\n", quotedName(p))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(fs)) {
		switch f := fs[p]; {
		case before != nil && before[p] == f:
		case f.mode == "160000":
			fmt.Fprintf(&h.stream, "M 160000 %s %s\n", f.content, quotedName(p))
		default:
			fmt.Fprintf(&h.stream, "M %s inline %s\ndata %d\n%s\n", f.mode, quotedName(p), len(f.content), f.content)
		}
	}
	return h.marks
}

func quotedName(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
}

// words are those of a commit: some that a rebase keeps and some that it
// changes.
func (h *history) words() (encoding, author, message string) {
	author = choose(h, "Ada <ada@example.org>", "B\xc3\xb6 <bo@example.org>", "Cyd <cyd@example.org>")
	switch h.rnd.IntN(16) {
	case 0:
		return "ISO-8859-1", "B\xf6 <bo@example.org>", "gr\xfc\xdfe\n\nin Latin-1\n"
	case 1:
		return "KOI8-R", author, "\xf0\xd2\xc9\xd7\xc5\xd4\n"
	case 2:
		return "utf8", author, "gr\xc3\xbc\xc3\x9fe\n"
	case 3:
		return "latin1", "B\xf6 <bo@example.org>", "\n \t\n\nblank before \x85\n"
	case 4:
		return "", "B\xf6 <bo@example.org>", "no \xff\xfe UTF-8 \xef\xbf\xbe here \xe2\x82\n"
	case 5:
		return "", author, "no newline at the end"
	case 6:
		return "", author, "  \n\n leading blank lines\n\n\n"
	case 7:
		return "", author, ""
	case 8:
		return "", author, "# comment\nwith  trailing space   \n\n# another\n------ >8 ------\nbelow\n"
	case 9:
		return "", author, "crlf\r\n\r\nbody\r\n"
	case 10:
		return "", author, "fixup! something\n"
	case 11:
		return "", author, " \t\r\n\n"
	}
	return "", author, fmt.Sprintf("change %d\n\nBody of it.\n", h.marks)
}
