package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// sameAsRebase compares what compose makes with what git rebase makes of it in
// the worktree of topic, which is then where git left it.
func sameAsRebase(t *testing.T, f *fixture, in composeInput) composed {
	t.Helper()
	done := f.composes(in)
	got := f.result(done)
	f.dir = in.top
	compareReplayed(t, "against git rebase", f.rebase(), got)
	f.dir = f.path("repo")
	return done
}

func TestReplayInOddRepositories(t *testing.T) {
	t.Parallel()
	const script = apart + `; sed -i 's/^5$/five/' long; git commit -qam five; cd $T; sed -i 's/^30$/thirty/' long; git commit -qam thirty; git mv long longer; git commit -qm move`
	t.Run("sha256", func(t *testing.T) {
		t.Parallel()
		f, in := parted(t, script, "--object-format=sha256")
		sameAsRebase(t, f, in)
	})
	for name, prepare := range map[string]string{
		"shared":          `git config core.sharedRepository 0660`,
		"packed":          `git gc -q`,
		"alternates":      `git clone -q --bare . $ROOT/pool; mkdir -p .git/objects/info; echo ../../../pool/objects >.git/objects/info/alternates; git repack -adlq; git prune-packed; test -z "$(ls .git/objects/pack)"`,
		"worktree config": `git config extensions.worktreeConfig true`,
		"shallow":         `git rev-parse main~3 >.git/shallow`,
		"replaced":        `git replace topic~1 $(git commit-tree -p topic~2 -m replaced topic~1^{tree})`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, script)
			f.sh(prepare)
			done := sameAsRebase(t, f, in)
			if name == "shared" {
				info, err := os.Stat(filepath.Join(f.dir, ".git", "objects", done.tip[:2], done.tip[2:]))
				if err != nil || info.Mode().Perm() != 0o440 {
					t.Errorf("%v, error %v", info, err)
				}
			}
		})
	}
	t.Run("bare", func(t *testing.T) {
		t.Parallel()
		f, in := parted(t, script)
		f.git("clone", "-q", "--bare", f.dir, f.path("bare.git"))
		f.dir = f.path("bare.git")
		f.git("worktree", "add", "-q", f.path("linked"), "topic")
		in.project, in.top = f.open(f.dir), f.path("linked")
		in.gitDir = gitDirOf(in.top)
		sameAsRebase(t, f, in)
	})
	t.Run("partial clone", func(t *testing.T) {
		t.Parallel()
		f, _ := parted(t, script)
		f.git("config", "uploadpack.allowFilter", "true")
		f.git("config", "uploadpack.allowAnySHA1InWant", "true")
		f.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+f.dir, f.path("clone"))
		f.dir = f.path("clone")
		f.git("config", "protocol.file.allow", "always")
		f.git("branch", "-q", "topic", "origin/topic")
		in := f.composeInput("main", "topic")
		done := f.composes(in)
		f.git("checkout", "-q", "topic")
		if diff := cmp.Diff(f.rebase(), f.result(done)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		f.git("fsck", "--no-dangling")
	})
	// A submodule that both sides moved on is merged where its commits are at
	// hand.
	t.Run("submodules", func(t *testing.T) {
		t.Parallel()
		for _, initialise := range []string{"nowhere", "$M", "$T"} {
			f, in := parted(t, `U="submodule --quiet"; git config protocol.file.allow always
git init -q -b main $ROOT/sub; for i in 0 1 2 3; do on $ROOT/sub s $i; done
git -c protocol.file.allow=always $U add ../sub sm; git -C sm checkout -q main~3; git add .; git commit -qm sub
git -C $T merge -q main; git $U deinit -f --all; rm -rf .git/modules
test `+initialise+` = nowhere || git -C `+initialise+` -c protocol.file.allow=always $U update -q --init
bump() { git -C $1 update-index --cacheinfo 160000,$(git -C $ROOT/sub rev-parse main~$2),sm; git -C $1 commit -qm "bump $2"; }
bump $M 2; bump $T 1; git reset -q --hard; git -C $T reset -q --hard`)
			done := f.composes(in)
			_, err := f.tryGit(in.top, "rebase", "-q", "main")
			if conflict := err != nil; conflict != (done.conflict != nil) {
				t.Errorf("initialised in %s: conflict %v, git rebase %v", initialise, done.conflict, err)
			}
		}
	})
}

func TestReplayEncodings(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"", "UTF-8", "utf8", "ISO-8859-1", "latin-1", "Latin1", "ISO8859-2", "ISO-8859-5", "ISO-8859-15", "KOI8-R"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, apart)
			var bytes strings.Builder
			for c := 0xa0; c <= 0xff; c++ {
				bytes.WriteByte(byte(c))
			}
			header := "tree " + f.git("rev-parse", in.tip+"^{tree}") + "\nparent " + in.tip +
				"\nauthor " + bytes.String() + " <a@x> 1600000000 +0530\ncommitter C <c@x> 1600000000 +0000\n"
			if encoding != "" {
				header += "encoding " + encoding + "\n"
			}
			f.write(f.path("raw"), header+"\n \t\n"+bytes.String()+"\n\xc3\xbc\n")
			in.tip = f.git("hash-object", "-t", "commit", "-w", "--literally", f.path("raw"))
			f.gitIn(in.top, "reset", "-q", "--hard", in.tip)
			sameAsRebase(t, f, in)
		})
	}
}

// Headers that a rebase drops are dropped, and a commit that keeps its place
// keeps them.
func TestReplayDropsHeaders(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart)
	raw := f.raw(in.tip)[0]
	header, message, _ := strings.Cut(raw, "\n\n")
	f.write(f.path("raw"), header+"\ngpgsig -----BEGIN\n x\n -----END\nodd header\n\n"+message)
	signed := f.git("hash-object", "-t", "commit", "-w", "--literally", f.path("raw"))
	f.gitIn(in.top, "reset", "-q", "--hard", signed)
	in.tip = signed
	sameAsRebase(t, f, in)
	in.onto = f.git("merge-base", "main", signed)
	if done := f.composes(in); done.tip != signed {
		t.Errorf("%s became %s", signed, done.tip)
	}
}

func TestNotesFollow(t *testing.T) {
	t.Parallel()
	const script = `on $T g 1; on $T h 2; on $T i 3; echo 2 >h; echo 3 >m; git add .; git commit -qm both
for c in topic topic~1 topic~2; do git notes add -m "on $c" $c; done; git notes --ref other add -m other topic
`
	for name, config := range map[string]string{
		"not asked for": `true`,
		"asked for":     `git config notes.rewriteRef 'refs/notes/*'`,
		"switched off":  `git config notes.rewriteRef 'refs/notes/*'; git config notes.rewrite.rebase false`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, script+config)
			noteRefs := func() string { return f.git("for-each-ref", "--format=update %(refname) %(objectname)", "refs/notes") }
			before := noteRefs()
			// Unasked, those of "git notes" follow as if they had been asked for.
			if name == "not asked for" {
				f.git("config", "notes.rewriteRef", "refs/notes/commits")
			}
			done := sameAsRebase(t, f, in)
			if name == "not asked for" {
				f.git("config", "--unset", "notes.rewriteRef")
				done = f.composes(in)
			}
			// The notes of each commit that is new and of the target's tip.
			list := func(tip string) (all []string) {
				for _, c := range strings.Fields(f.git("rev-list", tip, "^main~1")) {
					for _, ref := range []string{"commits", "other"} {
						note, err := f.tryGit(f.dir, "notes", "--ref", ref, "show", c)
						if err != nil {
							note = "none"
						}
						all = append(all, note)
					}
				}
				return all
			}
			want := list("topic")
			f.sh("git update-ref --stdin <<'E'\n" + before + "\nE")
			if err := f.r.copyNotes(t.Context(), in, done, false); err != nil {
				t.Fatal(detail(err))
			}
			if diff := cmp.Diff(want, list(done.tip)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if asked := name != "switched off"; asked == (before == noteRefs()) {
				t.Errorf("notes were written: %v", !asked)
			}
		})
	}
}

func TestCopyNotesFails(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart+`; git config notes.rewriteRef 'refs/notes/*'; git notes add -m x topic`)
	done := f.composes(in)
	f.write(f.path("repo/.git/refs/notes/commits.lock"), "")
	wantCode(t, f.r.copyNotes(t.Context(), in, done, false), workspace.ErrGitFailed)
}
