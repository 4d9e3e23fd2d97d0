package gitops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// Squashes and merges of random histories have the trees that git gives them,
// and conflict where git does.
func TestJoinIsMerge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		if testing.Short() && seed >= 10 {
			break
		}
		f := newEmptyRepo(t)
		configure(f, seed)
		h := newHistory(seed + 5000)
		if h.unrelated {
			continue
		}
		h.load(f)
		f.git("checkout", "-q", "-f", "main")
		in := f.composeInput("main", "topic")
		for strategy, args := range map[workspace.Strategy][]string{
			workspace.StrategySquash: {"--squash"},
			workspace.StrategyMerge:  {"--no-ff", "--no-edit"},
		} {
			in.strategy = strategy
			done := f.composes(in)
			out, err := f.tryGit(f.dir, append(append([]string{"merge", "-q"}, args...), "topic")...)
			if conflict := err != nil; conflict != (done.conflict != nil) {
				t.Errorf("history %d, %s: conflict %+v, git: %v\n%s", seed, strategy, done.conflict, err, out)
			} else if err == nil {
				compareJoin(t, f, in, done)
			}
			f.git("reset", "-q", "--hard", in.onto)
			f.git("clean", "-qfdx")
		}
	}
}

// compareJoin compares with what git has in the checkout: a merge commit, or
// the squash in the index.
func compareJoin(t *testing.T, f *fixture, in composeInput, done composed) {
	t.Helper()
	if tree := f.git("write-tree"); tree != done.tree {
		t.Errorf("%s: tree %s, git has %s:\n%s", in.strategy, done.tree, tree, f.git("diff", "--stat", tree, done.tree))
	}
	if in.strategy == workspace.StrategyMerge {
		format := "--format=%P%n%an %ae %cn %ce%n%B"
		if diff := cmp.Diff(f.git("log", "-1", format), f.git("log", "-1", format, done.tip)); diff != "" {
			t.Errorf("(-git +got):\n%s", diff)
		}
	}
}

func TestMergeMessage(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart)
	in.strategy = workspace.StrategyMerge
	for _, test := range []struct{ branch, target, given, want string }{
		{"topic", "dev", "", "Merge branch 'topic' into dev"},
		{"topic", "master", "", "Merge branch 'topic'"},
		{"", "dev", "", "Merge commit '" + in.tip + "' into dev"},
		{"topic", "main", "\n\n given \n\nbody  \n\n", " given \n\nbody"},
	} {
		in.branch, in.target, in.message = test.branch, test.target, test.given
		if got := f.git("log", "-1", "--format=%B", f.composes(in).tip); strings.TrimRight(got, "\n") != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestSquashMessage(t *testing.T) {
	t.Parallel()
	const people = `by() { GIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$2 GIT_AUTHOR_DATE="$3" git -C $T commit -q --allow-empty -m "$4"; }
on $M m 1; echo 1 >$T/g; git -C $T add g
`
	tests := []struct {
		name, script, given, want string
	}{
		{"one commit", `by Bo bo@x "1600000000 +0200" "Do it

Because."`, "", "Bo <bo@x> 1600000000 +0200\nDo it\n\nBecause.\n"},
		{"one commit, with a message", `by Bo bo@x "1600000000 +0200" "Do it"`, "Given", "Bo <bo@x> 1600000000 +0200\nGiven\n"},
		{"one author", `by Bo bo@x "1600000000 +0200" one; by Bo bo@x "1600000001 -0330" two`, "", "Bo <bo@x> 1600000001 -0330\nTopic\n\n* one\n* two\n"},
		{"bodies", `by Bo bo@x "1600000000 +0200" "one

Because of it.

- and that"; by Bo bo@x "1600000001 +0200" two; by Bo bo@x "1600000002 +0200" "three
over two lines

Fixes: 3
Co-authored-by: Cy <cy@x>"`, "", "Bo <bo@x> 1600000002 +0200\nTopic\n\n* one\n\nBecause of it.\n\n- and that\n\n* two\n\n* three over two lines\n\nFixes: 3\n\nCo-authored-by: Cy <cy@x>\n"},
		{
			"several authors", `by Bo bo@x "1600000000 +0200" one; by Cy cy@x "1600000001 +0000" two; by Bo BO@x "1600000002 +0000" three`, "",
			"Ada <ada@example.org> now\nTopic\n\n* one\n* two\n* three\n\nCo-authored-by: Bo <bo@x>\nCo-authored-by: Cy <cy@x>\n",
		},
		{
			"several authors, with a message", `by Bo bo@x "1600000000 +0200" one; by Ada ada@example.org "1600000001 +0000" two`, "Given\n\nReviewed-by: Di <di@x>",
			"Ada <ada@example.org> now\nGiven\n\nReviewed-by: Di <di@x>\nCo-authored-by: Bo <bo@x>\n",
		},
		{"co-authors of the commits", `by Bo bo@x "1600000000 +0200" "one

Co-authored-by: Cy <cy@x>"; by Bo bo@x "1600000001 +0200" "two

co-authored-by: Cy <CY@x>"`, "", "Bo <bo@x> 1600000001 +0200\nTopic\n\n* one\n* two\n\nCo-authored-by: Cy <cy@x>\n"},
		{
			"merge commits between", `by Bo bo@x "1600000000 +0200" one; git -C $T merge -q --no-edit main; by Bo bo@x "1600000001 +0200" two; on $M m2 2`, "",
			"Bo <bo@x> 1600000001 +0200\nTopic\n\n* one\n* two\n",
		},
		{
			"no UTF-8", `git -C $T -c i18n.commitEncoding=ISO-8859-1 commit -q -m "$(printf 'gr\374n')"; by Bo bo@x "1600000001 +0200" two`, "",
			"Ada <ada@example.org> now\nTopic\n\n* gr\u00fcn\n* two\n\nCo-authored-by: Bo <bo@x>\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, people+test.script)
			in.strategy, in.message = workspace.StrategySquash, test.given
			done := f.composes(in)
			raw := f.raw(done.tip)[0]
			header, message, _ := strings.Cut(raw, "\n\n")
			_, author, _ := strings.Cut(header, "author ")
			author, committer, _ := strings.Cut(author, "\ncommitter ")
			// The two are read one after the other: a second may have passed.
			if who, when, _ := strings.Cut(author, "> "); strings.HasPrefix(committer, who) && !strings.HasPrefix(when, "16000000") {
				author = who + "> now"
			}
			if diff := cmp.Diff(test.want, author+"\n"+message); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p := f.git("rev-parse", done.tip+"^@"); p != in.onto {
				t.Errorf("parents %s", p)
			}
		})
	}
}

func TestUnrelatedHistories(t *testing.T) {
	t.Parallel()
	f, in := parted(t, `on $M m 1; cd $T; git checkout -q --orphan o; git commit -qm o; git branch -M o topic`)
	in.tip = f.git("rev-parse", "topic")
	if done := f.composes(in); done.commits+done.dropped != 1 {
		t.Errorf("%+v", done)
	}
	in.strategy = workspace.StrategyMerge
	_, err := f.r.compose(t.Context(), in)
	if e := wantCode(t, err, workspace.ErrNotFastForward); !strings.Contains(e.Message, "none in common") {
		t.Errorf("%q", e.Message)
	}
}
