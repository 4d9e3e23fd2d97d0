package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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
			"waitfor":   cmdWaitFor,
		},
	})
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
