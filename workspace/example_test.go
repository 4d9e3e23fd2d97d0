package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/memory"
	"github.com/threadtree/threadtree/workspace"
)

// A thread gets a workspace, works in it and gives it back.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	project, home := filepath.Join(dir, "app"), filepath.Join(dir, "home")
	if out, err := exec.Command("git", "init", "-q", "-b", "main", project).CombinedOutput(); err != nil {
		fmt.Println(err, string(out))
		return
	}
	commit := exec.Command("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "one")
	commit.Dir = project
	if out, err := commit.CombinedOutput(); err != nil {
		fmt.Println(err, string(out))
		return
	}

	repository, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		fmt.Println(err)
		return
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(home, "locks"), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	manager, err := workspace.NewManager(workspace.Config{
		Store: memory.New(), Repository: repository, Locker: locks,
		Provider: gitops.NewProvider(repository, gitops.ProviderOptions{}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	w, err := manager.Create(ctx, workspace.CreateOptions{Project: project, ThreadID: "42", Title: "Fix the login!"})
	fmt.Println(w.Branch, "from", w.Base, err)

	// Another thread may type the same name: it is told who has it.
	_, err = manager.Create(ctx, workspace.CreateOptions{Project: project, ThreadID: "43", Name: "fix-the-login"})
	fmt.Println(errors.Is(err, workspace.ErrBranchCheckedOut))

	rows, err := manager.List(ctx, workspace.ListOptions{Project: project})
	for _, row := range rows {
		if row.Worktree != nil {
			fmt.Println(row.Workspace.ThreadID, "dirty:", *row.State.Dirty, "deletable:", row.Deletable, err)
		}
	}
	d, err := manager.Delete(ctx, workspace.DeleteOptions{ThreadID: "42"})
	fmt.Println("deleted", d.Removed.Branch, err)
	_, err = manager.Resolve(ctx, "42", project)
	fmt.Println(workspace.CodeOf(err), workspace.HintOf(err))

	// Output:
	// threadtree/fix-the-login from main <nil>
	// true
	// 42 dirty: false deletable: true <nil>
	// deleted threadtree/fix-the-login <nil>
	// not_found restore it, or create a new one
}

// A name that a person types, and one that is made from a title.
func ExampleNameFromTitle() {
	typed, _ := workspace.NameFromTyped(workspace.DefaultPrefix, "Login fix")
	derived := workspace.NameFromTitle(workspace.DefaultPrefix, "Größe der Seitenleiste merken", "42")
	fmt.Println(typed.Branch)
	fmt.Println(derived.Branch)
	fmt.Println(derived.Suffixed(2).Branch)
	// Output:
	// threadtree/login-fix
	// threadtree/größe-der-seitenleiste-merken
	// threadtree/größe-der-seitenleiste-merken-2
}
