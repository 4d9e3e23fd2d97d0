package main

import (
	"io"

	"github.com/alecthomas/kong"
)

// description is the head of the help text; each command has examples of its
// own below.
const description = `threadtree gives each chat thread a working copy of a git repository of its own: a linked worktree with a branch. It remembers them, shows their state, and takes them away again when nothing is lost by it.

  threadtree create --repo . --thread 42 --title "Fix the login"
  cd "$(threadtree resolve --thread 42)"
  threadtree list --repo .
  threadtree delete --thread 42

Flags such as --json come before the command. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.`

// codes is the foot of the help text.
const codes = `
With --json an error is {"error":{"code","message","hint","files"}} on standard
error. Its codes:

  not_found             no such workspace, directory or worktree
  already_exists        the thread, branch or directory has one, another one
  in_progress           somebody else is making it; see await
  not_ready             it is there, but can't be worked in
  invalid_name          that can't be a name, a branch or a thread's id
  invalid_ref           that can't be a branch, tag or commit
  not_a_repository      the directory is not in a git repository
  no_commits            the repository has no commit to start from
  branch_checked_out    another worktree has the branch
  directory_exists      something is where the worktree would go
  target_not_found      no such branch, tag, commit or remote
  dirty_worktree        there are changes that are not committed
  unmerged              there are commits that the base does not have
  nothing_to_merge      the target has all the commits; none to push
  rebase_conflict       the commits and the target changed the same lines
  merge_conflict        the same, for squash and merge
  target_dirty          the target's checkout has changes in the same files
  not_fast_forward      the target, or the remote, has other commits
  locked                the worktree is locked, or another thread has it too
  operation_in_progress a rebase, merge or the like is under way
  permission_denied     the system does not allow it
  timeout               it took too long, or was cancelled
  git_failed, provider_failed, provider_unavailable, store_failed, internal
                        the message says what went wrong
`

// printHelp prints kong's help text, and below that of the program itself what
// scripts need to know.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
		return err
	}
	if ctx.Selected() != nil {
		return nil
	}
	_, err := io.WriteString(ctx.Stdout, codes)
	return err
}

// Help is the detailed help of create.
func (*createCommand) Help() string {
	return `Makes a linked worktree with a branch of its own and prints it. A thread that has a workspace gets that one, so the command may be repeated.

  threadtree create --repo ~/app --thread 42 --title "Fix the login!"
        a new branch threadtree/fix-the-login; never one that exists

  threadtree create --repo ~/app --thread 42 --name login --base release
        branch threadtree/login from release; if that branch exists, it is
        checked out as it is

  threadtree create --repo ~/app --thread 42 --branch feature/login
        exactly that branch, new or existing, local or on the remote

Without --base a new branch starts where the project's checkout stands. A branch given as base is fetched first, for a few seconds at most. No existing branch is ever moved. Interrupted, it clears what it made.`
}

// Help is the detailed help of get.
func (*getCommand) Help() string {
	return `Shows what is remembered of the thread's workspace; list shows its state.

  threadtree get --thread 42
  threadtree --json get --thread 42 | jq -r .branch`
}

// Help is the detailed help of list.
func (*listCommand) Help() string {
	return `Shows each linked worktree of the project, also those that people made, and each record without one. Nothing is changed by it.

  threadtree list --repo ~/app
  threadtree --json list --repo ~/app | jq '.workspaces[] | select(.dirty)'

With --json, what could not be found out is left out of a row, and its reason says why. The reason also says why a workspace can't be deleted.`
}

// Help is the detailed help of resolve.
func (*resolveCommand) Help() string {
	return `Prints the directory to start the agent in: the thread's workspace, or, for a thread that never had one, the project given with --repo. A workspace that is not ready, failed, deleted or missing is an error, never the project.

  cd "$(threadtree resolve --thread 42)"
  threadtree resolve --thread 42 --repo ~/app`
}

// Help is the detailed help of await.
func (*awaitCommand) Help() string {
	return `Waits while somebody else makes the workspace, and prints it once it is ready. Where its maker died it is settled first.

  threadtree await --thread 42 --timeout 2m`
}

// Help is the detailed help of adopt.
func (*adoptCommand) Help() string {
	return `Binds a thread to a linked worktree that a person made with git. Deleting the workspace later only unbinds the thread; the worktree stays.

  git worktree add ../login
  threadtree adopt --repo . --thread 42 --directory ../login`
}

// Help is the detailed help of delete.
func (*deleteCommand) Help() string {
	return `Removes the worktree, its branch and the record, if nothing is lost by it: the worktree has to be clean and its commits merged, as judged at that moment. What fails is refused and left as it was. For a failed or a missing workspace only the record goes; a worktree that was adopted is unbound and stays.

  threadtree delete --thread 42`
}

// Help is the detailed help of reconcile.
func (*reconcileCommand) Help() string {
	return `Brings the records in line with git and the disk, and says what it found. Run it when a bot starts. What an interrupted create left is completed or cleared; nothing else is ever removed.

  threadtree reconcile --repo ~/app`
}

// Help is the detailed help of restore.
func (*restoreCommand) Help() string {
	return `Brings the workspace that was deleted last for the thread back: branch, directory, staged, changed and untracked files as they were; ignored files too while the directory is kept. Where the branch's name or the place is taken by now, it gets another and says so.

  threadtree delete --thread 42 --force
  threadtree restore --thread 42`
}

// Help is the detailed help of trash.
func (*trashCommand) Help() string {
	return `Shows the deleted workspaces of the project that can be restored, newest first, with the size of what is kept. What has expired is let go by gc alone.

  threadtree trash --repo ~/app`
}

// Help is the detailed help of preview.
func (*previewCommand) Help() string {
	return `Says whether the thread's commits would merge, what would change, and which files would conflict. No file, index or ref is touched.

  threadtree preview --thread 42
  threadtree --json preview --thread 42 --target release`
}

// Help is the detailed help of merge.
func (*mergeCommand) Help() string {
	return `Brings the thread's commits to the target branch: each of them, on top of the target (rebase), as one (squash), or with a merge commit (merge). The target's checkout, if it has one, follows; changes in other files of it stay. Afterwards the workspace is detached at the target, and its branch is gone.

  threadtree merge --thread 42
  threadtree merge --thread 42 --target release --strategy squash --message "Fix the login"

On a conflict nothing is changed. With --resolve the conflict is left in the workspace, to be resolved there:

  threadtree merge --thread 42 --resolve
        ... resolve the files in the workspace and git add them ...
  threadtree continue --thread 42
        or: threadtree abort --thread 42`
}

// Help is the detailed help of continue.
func (*continueCommand) Help() string {
	return `Finishes a merge that was paused on a conflict, once the files are resolved. Says which files still have conflict markers otherwise.

  threadtree continue --thread 42`
}

// Help is the detailed help of abort.
func (*abortCommand) Help() string {
	return `Undoes a merge that was paused on a conflict: the workspace is exactly as it was before.

  threadtree abort --thread 42`
}

// Help is the detailed help of gc.
func (*gcCommand) Help() string {
	return `Prints what could be let go: deleted workspaces whose time is over, and, where asked for, workspaces that are merged, idle, of a thread that was deleted or archived, or too many for a size. With --apply it lets go exactly that; workspaces go to the trash. One that is locked, dirty, busy or being made is never among them.

  threadtree gc --repo ~/app
  threadtree gc --repo ~/app --merged --idle 14d --apply
  threadtree gc --repo ~/app --closed
  threadtree gc --repo ~/app --max-size 20G --apply`
}
