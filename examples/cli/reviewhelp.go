package main

// Help is the detailed help of branches.
func (*branchesCommand) Help() string {
	return `Lists the branches, newest commit first: local ones by their name, those of a remote as origin/name. A branch that is the same in both places is listed once.

  threadtree branches --repo ~/app
  threadtree branches --repo ~/app --query login --local --limit 25`
}

// Help is the detailed help of diff.
func (*diffCommand) Help() string {
	return `Shows what the workspace changes since it left its base: its commits, and what is not committed or not tracked yet. Ignored files don't count. Nothing is changed by it.

  threadtree diff --thread 42
  threadtree diff --thread 42 --patch
  threadtree --quiet diff --thread 42 --patch | git apply --check
  threadtree --json diff --thread 42 | jq '.files[].path'

With --json a binary file has -1 for added and deleted; patch and truncated are there with --patch.`
}

// Help is the detailed help of overlap.
func (*overlapCommand) Help() string {
	return `Finds the workspaces that change the same files, two by two, and says whether they would conflict if both were merged. What isn't committed counts. Nothing is changed by it.

  threadtree overlap --repo ~/app
  threadtree --json overlap --repo ~/app | jq '.overlaps[] | select(.conflict)'`
}

// Help is the detailed help of push.
func (*pushCommand) Help() string {
	return `Publishes the workspace's branch under its own name, and prints where the host compares it or opens a request for it. It goes to the remote that git is set to push to (branch.NAME.pushRemote, remote.pushDefault), or that the branch follows, else to origin, else to the only one. No other branch and no tag is sent.

  threadtree push --thread 42
  threadtree push --thread 42 --force-with-lease
        after a rebase: replaces the branch on the remote, unless somebody
        pushed to it since it was last fetched

Without that flag nothing on the remote is ever replaced, and with it nothing that was not seen here.`
}
