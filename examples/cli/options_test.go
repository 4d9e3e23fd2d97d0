package main

import (
	"os"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/threadtree/threadtree/workspace"
)

// TestValuesKeepTheirBytes sees to it that a path which isn't UTF-8 is found,
// and that two ids which aren't are not taken for one.
func TestValuesKeepTheirBytes(t *testing.T) {
	t.Setenv("THREADTREE_HOME", "/tre\xe9s")
	var opts options
	var done exitCode
	parser, err := kong.New(&opts, settings(os.Stdout, os.Stderr, &done)...)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--db", "d\xff.db", "create", "--repo=caf\xe9", "--thread", "id\xfe", "--name", "-\xe9", "--base", ""}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	c := opts.Create
	for what, pair := range map[string][2]string{
		"home": {opts.Home, "/tre\xe9s"}, "db": {opts.DB, "d\xff.db"}, "repo": {c.Repo, "caf\xe9"},
		"thread": {c.Thread, "id\xfe"}, "name": {*c.Name, "-\xe9"}, "base": {*c.Base, ""},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, not %q", what, pair[0], pair[1])
		}
	}
	if err := workspace.CheckThreadID(c.Thread); workspace.CodeOf(err) != workspace.ErrInvalidName {
		t.Errorf("the thread's id: %v", err)
	}
}
