package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/alecthomas/kong"
)

// options is the command line.
type options struct {
	DB          string `name:"db" group:"Flags before the command:" placeholder:"FILE" env:"THREADTREE_DB" default:"${db}" help:"The database that remembers the workspaces. Default: ${db_shown}"`
	Home        string `name:"home" group:"Flags before the command:" placeholder:"DIR" env:"THREADTREE_HOME" default:"${home}" help:"Where worktrees go. Default: ${home_shown}"`
	Provider    string `name:"provider" group:"Flags before the command:" placeholder:"NAME" enum:"git,opencode,auto" default:"git" help:"Who makes workspaces: git, opencode, or auto (OpenCode, and git where OpenCode is not to be had). Default: git"`
	OpenCodeURL string `name:"opencode-url" group:"Flags before the command:" placeholder:"URL" help:"Address of your OpenCode server, for opencode and auto; without it one is started where it is needed. Its password is taken from OPENCODE_SERVER_PASSWORD."`
	JSON        bool   `name:"json" group:"Flags before the command:" help:"Print JSON on standard output, and errors as JSON on standard error."`
	Quiet       bool   `name:"quiet" group:"Flags before the command:" short:"q" help:"No progress; a workspace is printed as its directory alone."`

	Create    createCommand    `cmd:"" help:"Make a thread's workspace."`
	Get       getCommand       `cmd:"" help:"Show a thread's workspace."`
	List      listCommand      `cmd:"" help:"Show all worktrees and all records of a project."`
	Resolve   resolveCommand   `cmd:"" help:"Print where a thread works."`
	Await     awaitCommand     `cmd:"" help:"Wait until a thread's workspace is ready."`
	Adopt     adoptCommand     `cmd:"" help:"Bind a thread to a worktree that exists."`
	Delete    deleteCommand    `cmd:"" help:"Remove a thread's workspace, if nothing is lost by it."`
	Restore   restoreCommand   `cmd:"" help:"Bring a deleted workspace back."`
	Trash     trashCommand     `cmd:"" help:"Show what can be restored."`
	Branches  branchesCommand  `cmd:"" help:"List branches, newest first."`
	Diff      diffCommand      `cmd:"" help:"Show what a thread changes against its base."`
	Overlap   overlapCommand   `cmd:"" help:"Find workspaces that change the same files."`
	Preview   previewCommand   `cmd:"" help:"Say what a merge would do, and touch nothing."`
	Merge     mergeCommand     `cmd:"" help:"Bring a thread's commits home."`
	Continue  continueCommand  `cmd:"" help:"Finish a merge once its conflict is resolved."`
	Abort     abortCommand     `cmd:"" help:"Undo a merge that is paused on a conflict."`
	Push      pushCommand      `cmd:"" help:"Publish a thread's branch."`
	Pool      poolCommand      `cmd:"" help:"Make spare worktrees, of which the next creates are made at once."`
	GC        gcCommand        `cmd:"" name:"gc" help:"Say what could be let go, or let it go."`
	Reconcile reconcileCommand `cmd:"" help:"Repair the records of a project after a crash."`
	Plugin    pluginCommand    `cmd:"" help:"Write the plugin for an OpenCode server that you run yourself."`
}

// settings are those of the parser.
func settings(stdout, stderr *os.File, done *exitCode) []kong.Option {
	for _, name := range []string{"THREADTREE_DB", "THREADTREE_HOME"} {
		if os.Getenv(name) == "" {
			_ = os.Unsetenv(name) // kong takes an empty one for a value
		}
	}
	home, _ := os.UserHomeDir()
	data := dataDirectory(home)
	vars := kong.Vars{"db": "", "home": "", "db_shown": "none, give one", "home_shown": "none, give one"}
	if data != "" {
		vars["home"], vars["home_shown"] = data, tilde(data, home)
		vars["db"] = filepath.Join(data, "threadtree.db")
		vars["db_shown"] = tilde(vars["db"], home)
	}
	return []kong.Option{
		kong.Name("threadtree"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(done.exit),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 80}),
		// A value may begin with a dash: it is refused for what it is then.
		kong.WithHyphenPrefixedParameters(true),
		kong.KindMapper(reflect.String, kong.MapperFunc(stringValue)),
		vars,
	}
}

// stringValue takes the next argument, byte for byte, whatever it looks like.
// kong itself takes a missing one for an empty one then, and replaces what isn't
// UTF-8, as a path may not be.
func stringValue(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().IsEOL() {
		return errors.New("a value is missing")
	}
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	text, ok := token.Value.(string)
	if !ok {
		return fmt.Errorf("%v is no text", token.Value)
	}
	target.SetString(text)
	return nil
}

// dataDirectory is where the data of this user's programs goes, "" where that
// is not known.
func dataDirectory(home string) string {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "threadtree")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".local", "share", "threadtree")
}
