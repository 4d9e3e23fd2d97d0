package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/threadtree/threadtree/workspace"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"threadtree": main})
}

// TestScripts runs the shell stories in testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		Setup:               setup,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"json":      cmdJSON,
			"jsonkeys":  cmdJSONKeys,
			"jsonenv":   cmdJSONEnv,
			"refused":   cmdRefused,
			"snapshot":  cmdSnapshot,
			"unchanged": cmdUnchanged,
			"thread":    cmdThread,
			"waitfor":   cmdWaitFor,
		},
	})
}

// cmdThread says how a thread stands, as an adapter would.
func cmdThread(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: thread ID STATE")
	}
	a := newApp(&options{DB: ts.Getenv("THREADTREE_DB"), Home: ts.Getenv("THREADTREE_HOME"), Provider: workspace.ProviderGit}, os.Stdout, os.Stderr)
	ts.Check(a.with(context.Background(), func(m *workspace.Manager) error {
		return m.NoteThread(context.Background(), args[0], workspace.ThreadState(args[1]))
	}))
}

func condition(name string) (bool, error) {
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// setup isolates a story: its own home, its own git settings, and no
// repository above its directory.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	for k, v := range map[string]string{
		"HOME":                    home,
		"GIT_CONFIG_GLOBAL":       filepath.Join(home, "gitconfig"),
		"GIT_CONFIG_NOSYSTEM":     "1",
		"GIT_CEILING_DIRECTORIES": env.WorkDir,
		"THREADTREE_DB":           filepath.Join(env.WorkDir, "db", "threadtree.db"),
		"THREADTREE_HOME":         filepath.Join(env.WorkDir, "trees"),
		"TENKB":                   strings.Repeat("a", 10<<10),
		"NL":                      "\n",
		"ESC":                     "\x1b[31mred",
	} {
		env.Setenv(k, v)
	}
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "gitconfig"), []byte(gitConfig), 0o644)
}

const gitConfig = `[user]
	name = Ada
	email = ada@example.org
[init]
	defaultBranch = main
[advice]
	detachedHead = false
[protocol "file"]
	allow = always
`
