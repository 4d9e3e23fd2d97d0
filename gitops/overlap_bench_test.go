package gitops

import (
	"fmt"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// BenchmarkReview compares with a git status of each workspace, as many at
// once:
//
//	go test ./gitops -run '^$' -bench Review -benchtime 10x
func BenchmarkReview(b *testing.B) {
	for _, size := range []struct{ files, workspaces int }{{20, 20}, {20_000, 3}} {
		f := bigRepo(b, size.files)
		var rows []workspace.Workspace
		var dirs []string
		for i := range size.workspaces {
			name := fmt.Sprintf("w%d", i)
			dir := f.worktree(name)
			f.commit(dir, "d01/e00/f00001.go", fmt.Sprintf("package w%d\n", i), "own")
			f.write(dir+"/new", fmt.Sprint(i))
			rows, dirs = append(rows, f.row(name, "main")), append(dirs, dir)
		}
		p, v := f.open(f.dir), f.reviewer()
		name := fmt.Sprintf("%d-files-%d-workspaces", size.files, size.workspaces)
		b.Run("overlap/"+name, func(b *testing.B) {
			against(b, func() { statusOfAll(b, f, dirs) }, func() {
				found, err := v.Overlap(b.Context(), p, rows)
				if want := size.workspaces * (size.workspaces - 1) / 2; err != nil || len(found) != want || !found[0].Conflict {
					b.Fatal(found, err)
				}
			})
		})
		b.Run("diff/"+name, func(b *testing.B) {
			against(b, func() { statusOfAll(b, f, dirs[:1]) }, func() {
				d, err := v.Diff(b.Context(), workspace.DiffRequest{Project: p, Workspace: rows[0], Patch: true})
				if err != nil || len(d.Files) != 2 {
					b.Fatal(d, err)
				}
			})
		})
	}
}
