package gitops_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// A thread gets a worktree with a branch of its own, and it is removed when
// its commits are merged. Mostly a [workspace.Manager] makes these calls.
func ExampleProvider() {
	scratch, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(scratch)
	repo := filepath.Join(scratch, "repo")
	git := func(args ...string) {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			log.Fatalf("git: %v: %s", err, out)
		}
	}
	git("init", "-q", "-b", "main", repo)
	git("-C", repo, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "first")

	repository, err := gitops.New(gitops.Options{Home: filepath.Join(scratch, "home")})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	project, err := repository.Open(ctx, repo)
	if err != nil {
		log.Fatal(err)
	}
	provider := gitops.NewProvider(repository, gitops.ProviderOptions{})
	tell := func(e workspace.Event) { fmt.Printf("%s: %s\n", e.Phase, e.Message) }
	created, err := provider.Create(ctx, workspace.CreateRequest{
		Project: project, ThreadID: "42", Attempt: "attempt-1",
		Name:     workspace.NameFromTitle(workspace.DefaultPrefix, "Fix the login", "42"),
		Claim:    func(context.Context, workspace.Plan) error { return nil },
		Progress: tell,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("branch:", created.Plan.Branch, "from", created.Plan.Base)
	fmt.Println("directory:", filepath.Base(created.Plan.Directory))

	removed, err := provider.Remove(ctx, workspace.RemoveRequest{Project: project, Progress: tell, Workspace: workspace.Workspace{
		ThreadID: "42", Directory: created.Plan.Directory, Base: created.Plan.Base,
		Branch: created.Plan.Branch, BranchCreated: created.Plan.BranchCreated,
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("removed:", removed.Branch)
	// Output:
	// add: Adding a worktree on threadtree/fix-the-login
	// checkout: Checking out files
	// branch: threadtree/fix-the-login from main
	// directory: fix-the-login
	// removed: threadtree/fix-the-login
}
