package gitops

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestSpareThatCouldNotBeUsedIsJudged has a create bring a spare to another
// commit and then not use it: what somebody has done in it meanwhile is kept, and
// where nobody has it is a spare still.
func TestSpareThatCouldNotBeUsedIsJudged(t *testing.T) {
	t.Parallel()
	const work = "WORK\n"
	for name, tt := range map[string]struct {
		// at is the step at which somebody works in the file of the spare.
		at, file string
		// moved is true where the branch moves under the lock.
		moved bool
	}{
		"git refuses to move it":                  {at: "spare moving", file: "f"},
		"the branch has moved":                    {moved: true},
		"the branch has moved, with work in it":   {at: "spare moved", file: "f", moved: true},
		"the branch has moved, with a file in it": {at: "spare moved", file: "new", moved: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.run(l.dir, "checkout", "-q", "-b", "near")
			near := l.commit(l.dir, "f", "near\n")
			l.run(l.dir, "checkout", "-q", "main")
			l.fill()
			spare := l.spares()[0]
			p, _ := l.pooled()
			p.r.reached = func(step string) {
				if step == tt.at {
					l.write(filepath.Join(spare, tt.file), work)
				}
			}
			created, err := p.Create(t.Context(), l.request(exactly(t, "near"), func(r *workspace.CreateRequest) {
				r.Claim = func(context.Context, workspace.Plan) error {
					if tt.moved {
						l.run(l.dir, "update-ref", "refs/heads/near", "main")
					}
					return nil
				}
			}))
			if err != nil {
				t.Fatal(detail(err))
			}
			want := near
			if tt.moved {
				want = l.run(l.dir, "rev-parse", "main")
			}
			if got := l.run(created.Plan.Directory, "rev-parse", "HEAD"); got != want || l.run(created.Plan.Directory, "status", "--porcelain", "--ignored") != "" {
				t.Errorf("the workspace is at %s, not at %s, or not clean", got, want)
			}
			filled := l.fill()
			if tt.at == "" {
				if filled.Made != 0 || filled.Ready != 1 || filled.Removed != 0 || len(filled.Kept) > 0 {
					t.Errorf("%+v", filled)
				}
				l.warm(titled("next"))
				return
			}
			if content, _ := os.ReadFile(filepath.Join(spare, tt.file)); string(content) != work || len(filled.Kept) != 1 {
				t.Errorf("the work is %q; %+v", content, filled)
			}
			if out := l.run(spare, "status", "--porcelain"); out != " M f" && out != "M f" && out != "?? new" {
				t.Errorf("its status is %q", out)
			}
		})
	}
}
