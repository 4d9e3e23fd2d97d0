// Package gitops is everything that threadtree does with git.
//
// [Repository] reads: it opens projects, lists worktrees and finds out their
// state. [Provider] makes and removes worktrees. [AttemptLocks] tells live
// attempts from dead ones. All of them run the git program in one place
// (exec.go), with an environment that no caller's git variables reach, and use
// go-git in process for what it reads right and faster: opening, HEAD, refs,
// single commits, configuration.
//
// Reading never writes: no index is refreshed and nothing is pruned. What
// changes the list of worktrees or a branch runs under one lock a repository,
// held by an open file that git children inherit, so that a git which outlives
// us still holds it.
//
// What git says of its configuration is remembered while no file of it changes.
// The process that reads objects for a preview or a merge waits for 15 s for the
// next that needs one, those of four repositories at most; it holds no lock, and
// ends with the program.
//
// # Lists
//
// A list compares the commits of all worktrees together: one walk of git's
// finds what each is ahead and behind, and where they part; three more look for
// squashed and picked commits, and one for commits that no other ref has. How
// two commits stand to each other is remembered, for it can't change. A status
// is remembered with the file system's numbers of all that it depends on, the
// time of each file's last change among them, and is told again only while all
// of those are the same; none is taken where they say that nothing differs from
// the index. That is so for worktrees of up to 2,000 files on the usual local
// file systems of Linux, without submodules, split or sparse indexes, filters,
// replaced commits and configuration of their own; the others have git's status
// each time. A delete never goes by what is remembered.
//
// # Spares
//
// A [Pool] keeps spare worktrees. [Provider].Create, where it was given the
// pool, makes a worktree of one: all that decides of names, branches and
// directories is the same, only the writing of the files is left out. The
// result is, byte for byte, that of a create without a spare, the log of HEAD
// and the name of git's entry among it: the spare's directory and entry are
// renamed to the places that they would have had. Submodules and the
// post-checkout hook follow as ever, and so does set-up, unless the operator has
// allowed it to the pool: then ignored files are copied and dependencies
// installed in the spare. Such a spare goes only to a create that allows set-up
// too. Copies whose originals, or .worktreeinclude, have changed since are made
// anew, and dependencies are installed again where the create starts from
// another commit. Not done ahead are the operator's own commands, dependencies
// that know the path of their folder (any but those of npm, yarn, bun, go and
// cargo), and set-up in a repository with submodules or a post-checkout hook,
// which come first. Where a set-up fails the spare is made without, so that the
// create says what is wrong.
//
// A spare is detached at the commit that the project had checked out when it
// was made, in a locked worktree whose directory begins with ".spare-". Where a
// create starts from another commit, git writes only what differs. Each has a
// record and a lock in the home directory. Whoever makes, moves, claims or
// removes it holds the lock, as do his git children, and the record says
// before each step what is done; so two never get the same one, in whatever
// process, and what a killed process leaves is removed by [Pool.Recover], by
// the next Fill, or, once the attempt that claimed it is cleared, with that.
//
// A spare is handed out only where nobody has touched it. When its files are
// written, inode, mode, size and time of change of each file and directory, in
// the worktree and in git's entry, are noted, once the clock is past the last
// of them. For the claim each is looked at again, from the moment on in which
// the create is looked ahead at, and once more where the create then takes more
// than a second to find out what it needs, or to get the repository for itself.
// The time of change can't be set back, and that of a directory changes with every name in it, so that
// files that were added, ignored ones too, show as well as those that were
// changed in place, with their time set back or by an "add" or a commit. That
// is more than git status sees, and about what it costs to look at the files
// once; it runs beside what a create does anyway. A status after handing out
// would tell too late, and one without a look at each file can't tell a change
// in place. The log of HEAD, which housekeeping rewrites, is the only thing
// left out. A spare that was touched isn't handed out. The next Fill, or gc,
// asks git about it: where nothing differs it is noted anew, and where
// something does it is somebody's work, so that it is unlocked, stays where it
// is as a worktree like any other, and is said. Nothing in which somebody may
// have worked is removed.
//
// A spare is of use only where what decides about files is as it was: all
// configuration but sections that can't matter, attributes of the repository
// and of the user, the sparse checkout that git would copy, user and umask.
// Between two commits whose .gitattributes differ, or of which more than half
// of the files do, and with a split index, a spare isn't moved, and the create
// writes all files. Nor is one that is set up where .gitignore or a file that was
// copied differs, nor with a sparse index where a file takes a folder's place.
//
// These have no spares:
//   - Repositories whose refs git alone reads, such as reftable and SHA-256: HEAD
//     is no file, or can't be judged here.
//   - core.fsmonitor: the monitor knows worktrees by their paths, and the index
//     holds its answers.
//   - worktree.useRelativePaths and extensions.relativeWorktrees: the paths in
//     entry and directory would have to be made anew in git's form.
//   - core.preferSymlinkRefs: HEAD is a link.
//   - Hooks reference-transaction and post-index-change: they hear of each step
//     of a checkout, and a claim has other steps.
//
// And what a smudge filter writes that depends on the worktree's path, or on
// when it runs, is what it was when the spare was made.
//
// # Systems
//
// The package needs a Unix: process groups and flock.
package gitops
