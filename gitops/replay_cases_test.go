package gitops

import "testing"

// What a shortcut could get wrong, each time compared with git rebase, and
// with every pick left to git merge-tree.
func TestReplayCases(t *testing.T) {
	t.Parallel()
	const tree = `for d in d d/e w; do mkdir -p $d; for n in 1 2 3; do seq -f "$d/$n %.0f" 20 >$d/$n; done; done; git add .; git commit -qm tree; git -C $T reset -q --hard main
all() { git -C $1 add -A; git -C $1 commit -qm "$2"; }
edit() { sed -i "s|^\(.*\) $3\$|\1 $3 $4|" "$1/$2"; }
`
	for name, script := range map[string]string{
		"a directory renamed there, a file added here":     `git mv d moved; all $M moved; on $T d/new x`,
		"a directory renamed here, a file added there":     `git -C $T mv d moved; all $T moved; on $M d/new x`,
		"a part of a directory renamed there":              `git mv d/e moved; all $M moved; on $T d/new x; on $T d/e/new x`,
		"a directory renamed to two":                       `mkdir p q; git mv d/1 p; git mv d/2 q; git rm -qr d; all $M split; on $T d/new x`,
		"a directory removed there, a file changed here":   `git rm -qr w; all $M gone; edit $T w/1 5 x; all $T edit`,
		"a directory removed here, a file changed there":   `git -C $T rm -qr w; all $T gone; edit $M w/1 5 x; all $M edit`,
		"a directory removed on both sides":                `git rm -qr w; all $M gone; git -C $T rm -qr w; on $T f x`,
		"a file renamed there and changed here":            `git mv w/1 w/9; all $M moved; edit $T w/1 5 x; all $T edit`,
		"a file renamed here and changed there":            `git -C $T mv w/1 w/9; all $T moved; edit $M w/1 5 x; all $M edit`,
		"a file renamed to two names":                      `git mv w/1 w/8; all $M moved; git -C $T mv w/1 w/9; all $T moved`,
		"a file added here where a directory was":          `git rm -qr w; all $M gone; git -C $T rm -qr w; echo x >$T/w; all $T file`,
		"a file added here where there is a directory now": `on $T new x; mkdir new; on $M new/x y`,
		"a directory added here where there is a file now": `mkdir $T/new; on $T new/x y; on $M new x`,
		"a file beside a directory of a like name":         `mkdir new; on $M new/x y; on $T new.x z; on $T new0 z`,
		"the same file added":                              `on $M new x; on $T new x; on $T new y`,
		"the same file added, and renamed there":           `git mv w/1 new; all $M moved; cp new $T/new; all $T copied; edit $T w/1 5 x; all $T edit`,
		"the same change on both sides":                    `edit $M w/1 5 x; all $M edit; edit $T w/1 5 x; edit $T w/2 5 y; all $T edit; edit $T w/1 9 z; all $T more`,
		"both change one file, apart":                      `edit $M w/1 1 x; all $M edit; edit $T w/1 19 y; all $T one; edit $T w/1 10 z; all $T two; on $T f q`,
		"both change several files":                        `for n in 1 2 3; do edit $M w/$n 1 x; edit $M d/e/$n 1 x; done; all $M edit; for n in 1 2 3; do edit $T w/$n 19 y; edit $T d/e/$n 19 y; all $T $n; done`,
		"the second of two conflicts":                      `edit $M w/1 1 x; edit $M w/2 1 x; all $M edit; edit $T w/1 19 y; all $T fine; edit $T w/2 1 y; all $T conflict; edit $T d/1 1 y; all $T after`,
		"both change a mode and the content":               `chmod +x w/1; edit $M w/1 1 x; all $M mode; edit $T w/1 19 y; all $T edit; chmod +x $T/w/2; all $T mode`,
		"both change a link":                               `ln -s a l; all $M link; git -C $T reset -q --hard main; ln -sf b l; all $M to; ln -sf c $T/l; all $T to`,
		"a link here, a file there":                        `edit $M w/1 1 x; all $M edit; ln -sf 2 $T/w/1; all $T link`,
		"attributes of the target":                         `echo '1 merge=union' >w/.gitattributes; all $M attributes; edit $M w/1 5 x; all $M edit; edit $T w/1 5 y; all $T edit`,
		"attributes that forbid a merge":                   `echo '1 -merge' >w/.gitattributes; all $M attributes; edit $M w/1 1 x; edit $M w/2 1 x; all $M edit; edit $T w/2 19 y; all $T fine; edit $T w/1 19 y; all $T conflict`,
		"attributes that were guessed wrong":               `printf '%s\n' a b c d e f >w/.gitattributes; all $M a; git -C $T reset -q --hard main; echo '1 -merge' >>w/.gitattributes; edit $M w/1 1 x; edit $M w/2 1 x; all $M edit; edit $T w/2 19 y; all $T fine; sed -i '1s/^/#/' $T/w/.gitattributes; all $T attributes; edit $T w/1 19 y; all $T conflict`,
		"attributes that go away":                          `git config merge.keep.driver true; echo '1 merge=keep' >w/.gitattributes; all $M a; git -C $T reset -q --hard main; edit $M w/1 1 x; edit $M w/2 1 x; all $M edit; edit $T w/1 19 y; echo x >$T/own; all $T kept; git -C $T rm -q w/.gitattributes; all $T gone; edit $T w/2 19 y; all $T edit`,
		"attributes of a directory above":                  `echo 'e/1 merge=union' >d/.gitattributes; all $M attributes; edit $M d/e/1 5 x; edit $M d/1 5 x; all $M edit; edit $T d/e/1 5 y; all $T edit; edit $T d/1 5 y; all $T conflict`,
		"attributes that come with the commits":            `edit $M w/1 5 x; edit $M w/2 5 x; all $M edit; edit $T w/2 6 y; all $T fine; echo '* merge=union' >$T/.gitattributes; all $T attributes; edit $T w/1 5 y; all $T edit; rm $T/.gitattributes; all $T gone; edit $T w/2 5 z; all $T conflict`,
		"attributes that don't count yet":                  `edit $M w/1 5 x; all $M edit; echo '* merge=union' >$T/.gitattributes; edit $T w/1 5 y; all $T both`,
		"attributes, with a rename":                        `echo '* merge=union' >w/.gitattributes; git mv w/1 w/9; edit $M w/9 5 x; all $M moved; edit $T w/1 5 y; all $T edit`,
		"attributes, a link":                               `echo '* merge=union' >w/a; ln -s a w/.gitattributes; edit $M w/1 5 x; all $M edit; edit $T w/1 5 y; all $T edit`,
		"attributes, merged themselves":                    `printf '%s\n' a b c d e f '1 merge=union' >.gitattributes; all $M a; git -C $T reset -q --hard main; sed -i '1s/.*/x/' .gitattributes; edit $M w/2 5 x; edit $M w/1 5 x; all $M edit; sed -i 's/^1/?/' $T/.gitattributes; git -C $T mv w/3 w/4; all $T a; edit $T w/2 5 y; git -C $T mv w/4 w/3; all $T edit`,
		"a driver that is told the path":                   `git config merge.p.driver 'echo %P >>%A'; echo '* merge=p' >.gitattributes; edit $M w/1 5 x; edit $M d/e/1 5 x; all $M edit; edit $T w/1 5 y; edit $T d/e/1 5 y; all $T edit`,
		"line ends, renormalised":                          `git config merge.renormalize true; echo '* text' >.gitattributes; all $M a; edit $M w/1 1 x; all $M edit; sed -i 's/$/\r/' $T/w/1; edit $T w/1 19 y; git -C $T add .; git -C $T commit -qm crlf; edit $T w/2 1 x; all $T more`,
		"names that sort oddly":                            `for n in a a.b a0 a-b; do echo x >$n; done; mkdir a_; echo x >a_/f; all $M names; git -C $T reset -q --hard main; rm a; mkdir a; echo y >a/f; all $M dir; echo y >$T/a.b; echo y >$T/a0; mkdir $T/a.c; echo y >$T/a.c/f; all $T edit`,
		"all removed":                                      `on $M new x; git -C $T rm -qr .; git -C $T commit -qm nothing; on $T again y`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, tree+script)
			done := sameAsRebase(t, f, in)
			in.byGit = true
			compareReplayed(t, "against git merge-tree", f.result(f.composes(in)), f.result(done))
		})
	}
}

// The shortcuts are taken: no pick of these needs more than one merge by git.
func TestReplayTakesShortcuts(t *testing.T) {
	t.Parallel()
	f, in := parted(t, `for n in 1 2 3; do seq 20 >s$n; done; git add .; git commit -qm long; git -C $T reset -q --hard main
for n in 1 2 3; do sed -i 's/^3$/three/' s$n; git commit -qam $n; sed -i 's/^17$/seventeen/' $T/s$n; git -C $T commit -qam $n; on $T new$n x; done
git -C $T mv f moved; git -C $T commit -qm move`)
	counter := f.path("counter")
	f.write(counter, "#!/bin/sh\nfor a; do [ \"$a\" = merge-tree ] && echo x >>"+f.path("merges")+"; done\nexec git \"$@\"\n")
	f.sh("chmod +x $ROOT/counter")
	r, err := New(Options{Home: f.path("home"), Env: f.env, Git: counter})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := r.compose(t.Context(), in); err != nil || done.commits != 7 {
		t.Fatalf("%+v, error %v", done, err)
	}
	if merges := f.read(f.path("merges")); merges != "x\n" {
		t.Errorf("merges: %q", merges)
	}
}
