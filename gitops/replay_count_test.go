package gitops

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is counted without git is what git counts; the rest is left to it.
func TestCountLines(t *testing.T) {
	t.Parallel()
	long := `all() { git -C $1 add -A; git -C $1 commit -qm "$2"; }; printf '%s\n' 1 2 3 4 5 6 7 8 9 >long; git add .; git commit -qm long; git -C $T reset -q --hard main; on $M own x; `
	for name, c := range map[string]struct {
		script  string
		counted bool
	}{
		"added":            {`printf 'a\nb' >$T/a; : >$T/empty; all $T add`, true},
		"deleted":          {`git -C $T rm -q long; all $T gone`, true},
		"one piece":        {`sed -i '3,4c x\ny\nz' $T/long; all $T edit`, true},
		"begun and ended":  {`printf 'a\n' | cat - $T/long >$T/l; mv $T/l $T/long; all $T first; printf 'z' >>$T/long; all $T last`, false},
		"end of line":      {`printf 'a' >$T/a; all $T a; printf 'a\n' >$T/a; all $T a`, true},
		"last line":        {`printf '1\n2' >$T/long; all $T edit`, true},
		"binary":           {`printf 'a\000b' >$T/a; printf 'a\000b' >$T/long; all $T binary`, true},
		"mode":             {`chmod +x $T/long; all $T mode`, true},
		"link":             {`ln -s long $T/l; all $T link`, true},
		"a link of a file": {`rm $T/long; ln -s f $T/long; all $T link`, false},
		"moved lines":      {`sed -i '2{h;d};7G' $T/long; all $T edit`, false},
		"two pieces":       {`sed -i 's/2/two/;s/7/seven/' $T/long; all $T edit`, false},
		"renamed":          {`git -C $T mv long longer; all $T move`, false},
		"attributes":       {`echo '* -diff' >.git/info/attributes; sed -i 's/2/two/' $T/long; all $T edit`, false},
		"configured":       {`echo '* -diff' >../attributes; git config core.attributesFile $PWD/../attributes; sed -i 's/2/two/' $T/long; all $T edit`, false},
		"a submodule":      {`git -C $T update-index --add --cacheinfo 160000,$(git rev-parse main),sub; git -C $T commit -qm sub`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, long+c.script)
			in.preview = true
			err := f.r.rehearse(t.Context(), in, func(done composed, seeing func(...string) (command, error)) error {
				if (done.files != nil) != c.counted {
					t.Errorf("counted: %v", done.files)
				}
				v := &previewing{merging: &merging{r: f.r}}
				changes, err := v.stat(t.Context(), func() (command, error) {
					return seeing(append([]string{"diff-tree", "-r", "-z", "--no-abbrev", "--raw", "--numstat"}, append(diffOptions, in.onto, done.tip, "--")...)...)
				})
				if err != nil {
					return err
				}
				if diff := cmp.Diff(v.p.Files, done.files); c.counted && diff != "" {
					t.Errorf("-git +counted:\n%s", diff)
				}
				if diff := cmp.Diff(changes, done.changes, cmp.AllowUnexported(treeChange{})); name != "renamed" && diff != "" {
					t.Errorf("-git +compared:\n%s", diff)
				}
				return nil
			})
			if err != nil {
				t.Fatal(detail(err))
			}
		})
	}
}

// What is listed without git is what git lists; the rest is left to it.
func TestListShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		short  bool
	}{
		"apart":                     {`on $M m 1; on $T t 1; on $T t 2`, true},
		"far apart":                 {`on $M m 1; for i in $(seq 40); do on $T t $i; done`, false},
		"ahead alone":               {`on $T t 1; on $T t 2`, true},
		"behind alone":              {`on $M m 1; on $M m 2`, true},
		"the same paths":            {`on $M f 1; on $T f 2`, true},
		"the same change":           {`on $M g 1; on $M f 1; on $T f 1; on $T t 1`, false},
		"the same but for blanks":   {`on $M f 'a b'; on $T f 'ab'`, false},
		"both empty":                {`git commit -q --allow-empty -m m; git -C $T commit -q --allow-empty -m t`, false},
		"one empty":                 {`on $M m 1; git -C $T commit -q --allow-empty -m e`, true},
		"a merge among ours":        {`on $T t 0; on $M m 1; git -C $T merge -q --no-edit main; on $T t 1; on $M m 2`, false},
		"a merge among theirs":      {`on $T t 1; git branch side; git checkout -q side; on $M s 1; git checkout -q main; on $M m 1; git merge -q --no-edit side`, false},
		"no history in common":      {`git -C $T checkout -q --orphan other; git -C $T commit -qm other; git -C $T branch -M topic`, false},
		"replaced":                  {`on $M m 1; on $T t 1; on $T t 2; git replace --graft topic main`, false},
		"a shallow clone":           {`on $M m 1; on $T t 1; on $T t 2; git rev-parse topic~1 >.git/shallow`, false},
		"a file under another name": {`on $M m 1; on $T n 1`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, c.script)
			err := f.r.withComposer(t.Context(), in, true, func(_ context.Context, p *composer) error {
				list, ok, err := p.listShort(true)
				if err != nil || ok != c.short {
					t.Fatalf("short: %v, %v", ok, err)
				}
				if !ok {
					return nil
				}
				out := f.git("rev-list", "--topo-order", "--reverse", "--parents", "--cherry-mark", "--right-only", in.onto+"..."+in.tip)
				want, err := parseRevList([]byte(strings.TrimPrefix(out+"\n", "\n")))
				if diff := cmp.Diff(want, list, cmp.AllowUnexported(rangeCommit{})); diff != "" {
					t.Errorf("-git +short:\n%s", diff)
				}
				return err
			})
			if err != nil {
				t.Fatal(detail(err))
			}
		})
	}
}
