package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// somebodys is a plugin with an adapter that makes worktrees of its own below
// a directory, on the branch that it is given or one of its own naming, and
// that deletes all of it.
const somebodys = `import { execFileSync } from "node:child_process"
import { appendFileSync } from "node:fs"
export const Somebodys = async ({ experimental_workspace, directory }) => {
  const home = process.env.SOMEBODYS_HOME
  experimental_workspace.register("somebodys", {
    name: "Somebody's", description: "worktrees of somebody's",
    configure: (i) => ({ ...i, branch: i.branch ?? "somebodys/" + i.id, directory: home + "/" + i.id }),
    async create(i) {
      if (process.env.SOMEBODYS_FAILS) throw new Error("out of order")
      execFileSync("git", ["-C", directory, "worktree", "add", "-b", i.branch, i.directory, i.extra?.baseBranch ?? "HEAD"])
    },
    async remove(i) {
      appendFileSync(home + "/removed", i.id + "\n")
      execFileSync("git", ["-C", directory, "worktree", "remove", "--force", i.directory])
    },
    target: (i) => ({ type: "local", directory: i.directory }),
  })
  return {}
}
`

// withSomebodys is a server with that plugin and without ours, and where its
// worktrees are.
func withSomebodys(t testing.TB) (s *stranger, home string) {
	t.Helper()
	home = filepath.Join(os.TempDir(), fmt.Sprintf("threadtree-somebodys-%d", os.Getpid()))
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(home, "plugin.js")
	if err := os.WriteFile(plugin, []byte(somebodys), 0o644); err != nil {
		t.Fatal(err)
	}
	s = strange(t, "somebodys", "OPENCODE_EXPERIMENTAL_WORKSPACES=1", "SOMEBODYS_HOME="+home,
		fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"plugin":[%q]}`, "file://"+plugin))
	s.also = home
	return s, home
}

func TestSomebodysAdapter(t *testing.T) {
	t.Parallel()
	s, home := withSomebodys(t)
	p := newPlace(t, Attached{s.client}, func(cfg *ProviderConfig) { cfg.Adapter = "somebodys" })
	base := p.run(p.dir, "rev-parse", "HEAD")
	p.write("later", "x\n")
	p.run(p.dir, "add", ".")
	p.run(p.dir, "commit", "-q", "-m", "later")
	w := p.create("1", workspace.CreateOptions{Name: "one", Base: base})
	if w.Provider != workspace.ProviderOpenCode || filepath.Dir(w.Directory) != home || !w.BranchCreated {
		t.Errorf("%+v", w)
	}
	if head := p.run(w.Directory, "rev-parse", "HEAD"); head != base || p.run(w.Directory, "symbolic-ref", "--short", "HEAD") != w.Branch {
		t.Errorf("HEAD is %s, not %s", head, base)
	}
	p.hasRows(s.client, w)
	session, messages := p.said(s.client, w, "a word")
	// Its row stays for as long as it would delete something.
	note := filepath.Join(w.Directory, "note")
	p.write(note, "kept\n")
	if _, err := p.provider.release(t.Context(), s.client, p.dir, w.ProviderID, w.Directory); err == nil {
		t.Error("the row was released")
	}
	if content, err := os.ReadFile(note); string(content) != "kept\n" {
		t.Errorf("the note is %q: %v", content, err)
	}
	p.hasRows(s.client, w)
	p.bound(s.client, session, w.ProviderID, messages)
	if d := p.delete("1", true); len(d.Removed.Left) > 0 || !absent(w.Directory) {
		t.Errorf("left: %q", d.Removed.Left)
	}
	p.hasRows(s.client)
	p.bound(s.client, session, "", messages)
	back := p.restore("1")
	if content, err := os.ReadFile(filepath.Join(back.Directory, "note")); string(content) != "kept\n" || !hasLine(back.Warnings, "plugin") {
		t.Errorf("the note is %q: %v; %q", content, err, back.Warnings)
	}
	p.bound(s.client, session, "", messages)
}
