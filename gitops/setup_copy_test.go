package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestCopyChoosesIgnoredFilesThatAreNamed(t *testing.T) {
	t.Parallel()
	ignore := ".env*\nnode_modules/\n.cache/\n.vscode/\n*.pem\nconf/local.*\nsecrets/\n"
	files := map[string]string{
		".env": "top", "apps/api/.env": "api", "apps/web/deep/.env": "web", ".env.test": "test",
		"node_modules/pkg/.env": "dragged", "apps/api/node_modules/x/.env": "dragged",
		"node_modules/.cache/tool/key": "tool",
		".cache/a/b":                   "ab", ".cache/c": "c",
		".vscode/settings.json": "settings", ".vscode/.env": "no", "apps/api/.vscode/settings.json": "api settings",
		"a.pem": "pem", "notignored.txt": "no", "conf/local.yml": "yml", "conf/local.json": "json",
		"secrets/one": "1", "secrets/two": "2",
	}
	tests := []struct {
		name, include string
		want          []string
	}{
		{"nested, not in ignored folders", ".env\n", []string{".env=top", "apps/api/.env=api", "apps/web/deep/.env=web"}},
		{"comments, blanks and line ends of another system", "# .vscode/\r\n\r\n/.env\r\n", []string{".env=top"}},
		{"anchored", "/.env\n", []string{".env=top"}},
		{"anchored below", "apps/api/.env\n", []string{"apps/api/.env=api"}},
		{"wildcard and negation", ".env*\n!.env.test\n!/apps/web/\n", []string{".env=top", "apps/api/.env=api", "apps/web/deep/.env=web"}},
		{"negation of files below", ".env*\n!/apps/**/.env\n", []string{".env=top", ".env.test=test"}},
		{"two stars do not name the folders between", "**/.env\napps/**/.env\n", []string{".env=top", "apps/api/.env=api", "apps/web/deep/.env=web"}},
		{"one star does not name a folder", "*/pkg/.env\n/*/.env\n", nil},
		{"whole ignored folder", ".cache/\n", []string{".cache/a/b=ab", ".cache/c=c"}},
		{"whole ignored folder without the slash", "/.cache\n", []string{".cache/a/b=ab", ".cache/c=c"}},
		{"whole ignored folder by its contents", ".cache/**\n!.cache/c\n", []string{".cache/a/b=ab"}},
		{"file in a named folder", ".vscode/settings.json\n.env.test\n", []string{".env.test=test", ".vscode/settings.json=settings"}},
		{"file in folders of that name", "**/.vscode/settings.json\n", []string{".vscode/settings.json=settings", "apps/api/.vscode/settings.json=api settings"}},
		{
			"other patterns do not follow into a named folder", ".env\nnode_modules/.cache/tool/key\n",
			[]string{".env=top", "apps/api/.env=api", "apps/web/deep/.env=web", "node_modules/.cache/tool/key=tool"},
		},
		{"negation in a named folder", "secrets/*\n!secrets/two\n", []string{"secrets/one=1"}},
		{"only what is ignored", "*.txt\n*.pem\nconf/\n", []string{"a.pem=pem", "conf/local.json=json", "conf/local.yml=yml"}},
		{"nothing named", "# nothing\n", nil},
		{"an option is a pattern", "--help\n-x\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newSetupCase(t, map[string]string{".gitignore": ignore, "apps/api/main": "code", "conf/main": "conf"})
			c.put(files)
			c.put(map[string]string{includeFile: tt.include})
			c.fresh()
			wantNone(t, c.copyFiles())
			c.wantUntracked(tt.want...)
			c.wantClean()
		})
	}
}

func TestCopyOddNames(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.key\n", includeFile: "*.key\n!drop\\ me\\ .key\n"})
	c.put(map[string]string{
		"a b.key": "1", ":(top)x.key": "2", ":y.key": "3", ":(bad)z.key": "11", "new\nline.key": "4", "-n.key": "5",
		"\xff\xfe.key": "6", "drop me .key": "7", "ü/ö.key": "8", `q"uote.key`: "9", `back\slash.key`: "10",
	})
	c.fresh()
	wantNone(t, c.copyFiles())
	c.wantUntracked("a b.key=1", ":(top)x.key=2", ":y.key=3", ":(bad)z.key=11", "new\nline.key=4", "-n.key=5",
		"\xff\xfe.key=6", "ü/ö.key=8", `q"uote.key=9`, `back\slash.key=10`)
}

func TestCopyWithoutIncludeFileDoesNothing(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": ".env\n"})
	c.put(map[string]string{".env": "secret"})
	c.fresh()
	wantNone(t, c.copyFiles())
	c.wantUntracked()
	if len(c.events) > 0 {
		t.Errorf("events: %v, want none", c.events)
	}
}

func TestCopyIsNotTurnedBySettingsOfTheUser(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": ".env\n", includeFile: ".env\n", "x/k": "k"})
	c.put(map[string]string{".env": "1", "x/.env": "2", "new/.env": "3", "global.tmp": "4"})
	c.git(c.source, "config", "status.showUntrackedFiles", "no")
	c.git(c.source, "config", "status.relativePaths", "true")
	c.git(c.source, "config", "status.renames", "copies")
	c.write(filepath.Join(c.source, "excludes"), "*.tmp\n!.env\n")
	c.git(c.source, "config", "core.excludesFile", filepath.Join(c.source, "excludes"))
	c.fresh()
	wantNone(t, c.copyFiles())
	c.wantUntracked(".env=1", "x/.env=2", "new/.env=3")
}

func TestCopyKeepsModeAndTime(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "bin/\nsecret\n", includeFile: "bin/\nsecret\n"})
	c.put(map[string]string{"bin/tool": strings.Repeat("tool", 1<<20), "secret": "s"})
	when := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o751, "secret": 0o400} {
		path := filepath.Join(c.source, name)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(c.source, "bin"), 0o710); err != nil {
		t.Fatal(err)
	}
	c.fresh()
	wantNone(t, c.copyFiles())
	for name, mode := range map[string]os.FileMode{"bin/tool": 0o751, "secret": 0o400} {
		info, err := os.Stat(filepath.Join(c.worktree, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode || !info.ModTime().Equal(when) {
			t.Errorf("%s: mode %v, changed %v; want %v, %v", name, info.Mode(), info.ModTime(), mode, when)
		}
	}
	if info, err := os.Stat(filepath.Join(c.worktree, "bin")); err != nil || info.Mode().Perm() != 0o710 {
		t.Errorf("folder: %v, %v; want 0710", info.Mode(), err)
	}
	if got, want := c.read(filepath.Join(c.worktree, "bin/tool")), c.read(filepath.Join(c.source, "bin/tool")); got != want {
		t.Error("the copy's contents differ")
	}
}

func TestCopyOverwritesNothing(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.env\n", includeFile: "*.env\n", "f": "f"})
	c.fresh()
	// The branch has the file; and somebody put another there already.
	c.write(filepath.Join(c.worktree, "tracked.env"), "branch's")
	c.git(c.worktree, "add", "-f", "tracked.env")
	c.git(c.worktree, "commit", "-q", "-m", "tracked")
	c.write(filepath.Join(c.worktree, "mine.env"), "mine")
	c.put(map[string]string{"tracked.env": "project's", "mine.env": "project's", "new.env": "new"})
	wantNone(t, c.copyFiles())
	c.wantClean()
	c.wantUntracked("mine.env=mine", "new.env=new")
	if got := c.read(filepath.Join(c.worktree, "tracked.env")); got != "branch's" {
		t.Errorf("the tracked file has %q", got)
	}
}

func TestCopyLeavesOutWhatTheBranchDoesNotIgnore(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "", "f": "f"})
	c.fresh()
	c.write(filepath.Join(c.source, ".gitignore"), "*.env\n")
	c.put(map[string]string{includeFile: "*.env\n", "a.env": "secret"})
	wantWarning(t, c.copyFiles(), "a.env", "does not ignore")
	c.wantUntracked()
}

func TestCopyNeverLeavesTheProjectByLinks(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.env\nlinks\nreal/\n", includeFile: "*.env\nlinks\nreal/\n", "shared/k": "k"})
	outside := resolved(t, t.TempDir())
	c.write(filepath.Join(outside, "outside.env"), "outside")
	c.put(map[string]string{"real/a.env": "a"})
	for link, target := range map[string]string{
		"in.env": "shared/k", "dangling.env": "shared/none", "shared/up.env": "../real/a.env",
		"real/folder": "../shared",
		"abs.env":     filepath.Join(outside, "outside.env"),
		"inabs.env":   filepath.Join(c.source, "shared/k"),
		"rel.env":     "../outside.env", "sly.env": "shared/none/../../../outside.env",
		"twice.env": "hop.env", "hop.env": outside, "links": outside,
	} {
		if err := os.Symlink(target, filepath.Join(c.source, link)); err != nil {
			t.Fatal(err)
		}
	}
	c.fresh()
	wantWarning(t, c.copyFiles(), "7 ignored files", "leaves the project", "abs.env", "hop.env", "inabs.env", "links")
	c.wantUntracked("in.env->shared/k", "dangling.env->shared/none", "shared/up.env->../real/a.env",
		"real/folder->../shared", "real/a.env=a")
}

func TestCopyNeverWritesThroughLinks(t *testing.T) {
	t.Parallel()
	outside := resolved(t, t.TempDir())
	c := newSetupCase(t, map[string]string{".gitignore": ".env\ncache/\n", includeFile: ".env\ncache/\n", "in/k": "k"})
	c.fresh()
	c.put(map[string]string{"out/.env": "1", "alias/.env": "2", "file/.env": "3", ".env": "4", "cache/x": "5", "fine/.env": "6"})
	for link, target := range map[string]string{"out": outside, "alias": "in", ".env": filepath.Join(outside, "env"), "cache": outside} {
		if err := os.Symlink(target, filepath.Join(c.worktree, link)); err != nil {
			t.Fatal(err)
		}
	}
	c.write(filepath.Join(c.worktree, "file"), "a file")
	c.git(c.worktree, "add", "-f", "out", "alias", ".env", "cache", "file")
	c.git(c.worktree, "commit", "-q", "-m", "links")
	wantWarning(t, c.copyFiles(), "4 ignored files", "stands where its folder would be", "out/.env", "alias/.env", "file/.env", "cache/x")
	c.wantUntracked("fine/.env=6")
	c.wantClean()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v, %v; want nothing", entries, err)
	}
}

func TestCopyLeavesOutRepositoriesAndSpecialFiles(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "data/\nvendor/\n*.sock\ntrees/\n", includeFile: "data/\nvendor/\n*.sock\ntrees/\n"})
	c.put(map[string]string{"data/a": "a", "data/deep/b": "b"})
	c.git(c.source, "init", "-q", "data/deep/nested")
	c.write(filepath.Join(c.source, "data/deep/nested/file"), "n")
	c.git(c.source, "init", "-q", "vendor")
	c.write(filepath.Join(c.source, "vendor/file"), "v")
	if err := syscall.Mkfifo(filepath.Join(c.source, "data/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The fresh worktree lies in an ignored folder of the project's.
	c.worktree = filepath.Join(c.source, "trees/fresh")
	c.fresh()
	warnings := c.copyFiles()
	if len(warnings) != 2 {
		t.Fatalf("warnings: %q, want two", warnings)
	}
	wantWarning(t, warnings[:1], "3 ignored files", "repository of its own", "data/deep/nested", "trees/fresh", "vendor")
	wantWarning(t, warnings[1:], "data/pipe", "neither a file nor a symbolic link")
	c.wantUntracked("data/a=a", "data/deep/b=b")
}

func TestCopyLeavesSubmodulesAlone(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": ".env\n", includeFile: ".env\n"})
	c.fresh()
	c.put(map[string]string{"sub/.env": "1", ".env": "2"})
	c.git(c.worktree, "init", "-q", "sub")
	c.git(filepath.Join(c.worktree, "sub"), "commit", "-q", "--allow-empty", "-m", "sub")
	c.git(c.worktree, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
	wantWarning(t, c.copyFiles(), "sub/.env", "repository of its own")
	if got := c.git(c.worktree, "status", "--porcelain", "--ignored"); got != "A  sub\n!! .env" {
		t.Errorf("status:\n%s", got)
	}
}

func TestCopyUnreadableIncludeFileIsAWarning(t *testing.T) {
	t.Parallel()
	outside := resolved(t, t.TempDir())
	for name, place := range map[string]func(path string) error{
		"folder":   func(p string) error { return os.Mkdir(p, 0o755) },
		"too long": func(p string) error { return os.WriteFile(p, make([]byte, includeLimit+1), 0o644) },
		"link out": func(p string) error {
			target := filepath.Join(outside, "include")
			if err := os.WriteFile(target, []byte(".env\n"), 0o644); err != nil {
				return err
			}
			return os.Symlink(target, p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newSetupCase(t, map[string]string{".gitignore": ".env\n"})
			c.put(map[string]string{".env": "secret"})
			if err := place(filepath.Join(c.source, includeFile)); err != nil {
				t.Fatal(err)
			}
			c.fresh()
			wantWarning(t, c.copyFiles(), "could not be copied", "by hand")
			c.wantUntracked()
		})
	}
}

func TestCopyTellsCountAndSize(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.bin\n", includeFile: "*.bin\n"})
	c.put(map[string]string{"a.bin": strings.Repeat("x", 1500), "b.bin": strings.Repeat("y", 1000)})
	c.fresh()
	wantNone(t, c.copyFiles())
	last := c.events[len(c.events)-1]
	if last.Phase != workspace.PhaseCopy || last.Message != "Copying 2 ignored files, 2.5 kB" {
		t.Errorf("last event: %+v", last)
	}
}

func TestCopyStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.bin\n", includeFile: "*.bin\n"})
	c.put(map[string]string{"a.bin": "a", "b.bin": "b"})
	c.fresh()
	ctx, cancel := context.WithCancel(t.Context())
	q := c.request(SetupOptions{Copy: true, Commands: [][]string{{"touch", "ran"}}})
	q.progress = func(e workspace.Event) {
		if strings.HasPrefix(e.Message, "Copying") {
			cancel()
		}
	}
	wantWarning(t, c.r.setup(ctx, q), "cancelled")
	c.wantUntracked()
}

func TestCopyHasATimeLimit(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.bin\n", includeFile: "*.bin\n"})
	c.put(map[string]string{"a.bin": "a"})
	c.fresh()
	wantWarning(t, c.r.setup(t.Context(), c.request(SetupOptions{Copy: true, Timeout: 1})), "too long")
	c.wantUntracked()
}

// A copy that ends in the middle of a file leaves no half of it.
func TestPlaceFileLeavesNoHalves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, sub := range []string{"src", "dst"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "src/big"), make([]byte, copyChunk+1), 0o644); err != nil {
		t.Fatal(err)
	}
	var c copying
	for root, sub := range map[**os.Root]string{&c.src: "src", &c.dst: "dst"} {
		var err error
		if *root, err = os.OpenRoot(filepath.Join(dir, sub)); err != nil {
			t.Fatal(err)
		}
		defer (*root).Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.placeFile(ctx, "big"); err == nil {
		// A disk that shares contents has copied it in one go.
		if info, err := os.Stat(filepath.Join(dir, "dst/big")); err != nil || info.Size() != copyChunk+1 {
			t.Errorf("placed, but %v, %v", info, err)
		}
		return
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "dst")); err != nil || len(entries) > 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// Where the disk shares contents the copy is whole at once, and stays as it is
// when the source changes; elsewhere it is empty.
func TestCloneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "src")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	out, cloned, err := cloneFile(src, root, "dst")
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("after"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := ""
	if cloned {
		want = "before"
	}
	t.Logf("the disk shares contents: %v", cloned)
	if got, err := os.ReadFile(filepath.Join(dir, "dst")); err != nil || string(got) != want {
		t.Errorf("the copy has %q (%v), want %q", got, err, want)
	}
	if _, _, err := cloneFile(src, root, "dst"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a file that is there: %v", err)
	}
}
