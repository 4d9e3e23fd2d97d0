package opencode

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	c := client(t, s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	if w.Provider != workspace.ProviderOpenCode || w.Status != workspace.StatusReady || len(w.Warnings) > 0 {
		t.Fatalf("%+v", w)
	}
	rows := p.rows(c)
	if len(rows) != 1 || rows[0].ID != w.ProviderID || rows[0].Directory != w.Directory || rows[0].Branch != w.Branch {
		t.Fatalf("%+v", rows)
	}
	session, err := c.CreateSession(t.Context(), At{WorkspaceID: w.ProviderID}, NewSession{Title: "x"})
	if err != nil || session.Directory != w.Directory {
		t.Fatalf("%+v, %v", session, err)
	}
	answer, err := c.Prompt(t.Context(), session.ID, Prompt{Text: "hello"})
	if err != nil || answer.Info.Path.Cwd != w.Directory {
		t.Fatalf("%+v, %v", answer, err)
	}
	before, err := c.Messages(t.Context(), session.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := p.manager.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
	if err != nil || len(deleted.Removed.Left) > 0 {
		t.Fatalf("%+v, %s", deleted, detail(err))
	}
	if rows := p.rows(c); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	if _, err := os.Stat(w.Directory); !os.IsNotExist(err) {
		t.Errorf("%s is still there", w.Directory)
	}
	if s, err := c.Session(t.Context(), session.ID); err != nil || s.WorkspaceID != "" {
		t.Errorf("%+v, %v", s, err)
	}
	again, err := p.manager.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil || len(again.Warnings) > 0 {
		t.Fatalf("%+v, %s", again, detail(err))
	}
	if rows := p.rows(c); len(rows) != 1 || rows[0].ID != w.ProviderID {
		t.Errorf("%+v", rows)
	}
	if s, err := c.Session(t.Context(), session.ID); err != nil || s.WorkspaceID != w.ProviderID {
		t.Errorf("%+v, %v", s, err)
	}
	after, err := c.Messages(t.Context(), session.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := text(t, before), text(t, after); a != b {
		t.Errorf("%s\nbecame\n%s", a, b)
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
