package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestStory compares all that the quickstart prints; only ids
// differ from run to run.
func TestStory(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	dir := filepath.Join(t.TempDir(), "scratch")
	if err := run(t.Context(), &out, dir); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	ids := regexp.MustCompile(`(project-)[0-9a-f]{8}|(up to )[0-9a-f]+|(deleted-)[0-9a-f]{8}`)
	got := ids.ReplaceAllString(out.String(), "${1}${2}${3}ID")
	const golden = "testdata/story.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the story changed (-want +got), see -update:\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "project", "greeting")); err != nil {
		t.Errorf("what was to be kept is gone: %v", err)
	}
}

// TestScratchIsCleared looks that nothing is left without -keep.
func TestScratchIsCleared(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	if err := run(t.Context(), &bytes.Buffer{}, ""); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDirectoryInUse looks that a project that is there isn't written over.
func TestDirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), &bytes.Buffer{}, dir); err == nil {
		t.Error("an existing project was taken")
	}
}
