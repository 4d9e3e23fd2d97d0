package main

// subjects are all rows of the table, with how they are measured.
func subjects() []subject {
	many := func(l *lab) int { return l.files }
	few := func(*lab) int { return 20 }
	none := func(*lab) int { return 0 }
	old := func(l *lab) int { return l.worktrees }
	return []subject{
		{[]row{{"create, warm, 20,000 files, base at the tip", "`git worktree add`", 0.08}}, warmCreates(0)},
		{[]row{{"create, warm, 20,000 files, base 50 commits away", "`git worktree add`", 0.2}}, warmCreates(50)},
		{[]row{{"create, cold, 20,000 files", "`git worktree add`", 1.05}}, coldCreates(many, none)},
		{[]row{{"create, cold, 20 files, 200 worktrees there already", "`git worktree add`", 1.2}}, coldCreates(few, old)},
		{[]row{{"32 creates at once, cold, 20 files", "`git worktree add`, one at a time", 0.8}}, createsAtOnce},
		{[]row{
			{"list with dirty, ahead, behind, merged: 50 worktrees of 20 files", "as many `git status`, as many at once", 1.9},
			{"the same list a second time, nothing changed", "the first", 0.7},
		}, lists(0)},
		{[]row{
			{"list with dirty, ahead, behind, merged: 20 worktrees of 20,000 files", "as many `git status`, as many at once", 1.1},
		}, lists(1)},
		{[]row{{"branches, 2,000 refs, filtered", "`git for-each-ref`, sorted", 1}}, branches},
		{[]row{{"preview of a merge's commits, 20,000 files", "`git merge-tree`", 2}}, previews},
		{[]row{{"delete's answer, 20,000 files", "one `git status -uall` of it", 3}}, deletes},
		{[]row{
			{"store: get, among 100,000 rows", "one bare SQLite query", 2},
			{"store: list of one project's 50 rows, among 100,000", "one bare SQLite query", 2},
		}, records},
	}
}
