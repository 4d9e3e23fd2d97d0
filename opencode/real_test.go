package opencode

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

func TestRealServer(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	if h, err := c.Health(t.Context()); err != nil || h != (Health{true, wanted(t)}) {
		t.Errorf("%+v, %v", h, err)
	}
	for name, o := range map[string]ClientOptions{
		"no password": {}, "wrong password": {Password: "x"}, "wrong user": {Username: "x", Password: s.password},
	} {
		wrong := clientOf(t, c.URL(), o)
		_, err := wrong.Health(t.Context())
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrUnauthorized) || e.Status != 401 {
			t.Errorf("%s: %v", name, err)
		}
		if err := wrong.Events(t.Context(), func(Event) {}); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("%s: events: %v", name, err)
		}
	}
	resp, err := http.Get(c.URL() + "/session")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 || resp.StatusCode != 401 {
		t.Errorf("%d %q %v", resp.StatusCode, body, err)
	}
	_, err = c.Session(t.Context(), "ses_00000000000000000000000000")
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNotFound) || e.Status != 404 || e.Name != "NotFoundError" {
		t.Errorf("session: %v", err)
	}
	_, err = c.CreateSession(t.Context(), At{WorkspaceID: "wrk_nope"}, NewSession{})
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNotFound) || e.Status != 500 {
		t.Errorf("workspace: %v", err)
	}
	if err := c.do(t.Context(), call{op: "x", method: http.MethodGet, path: "/no/such/path"}); !errors.Is(err, ErrNoEndpoint) {
		t.Errorf("no endpoint: %v", err)
	}
}

func TestRealServerFindsOddDirectories(t *testing.T) {
	t.Parallel()
	c := client(t, common(t))
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"%41", "%2541", "100% x", "two  spaces", "a+b", "é日", "a&b=c", "#1", "what?", `q"'`} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := c.CreateSession(t.Context(), At{Directory: dir}, NewSession{Title: "t"})
		if err != nil || s.Directory != dir {
			t.Errorf("%q: %q, %v", name, s.Directory, err)
			continue
		}
		list, err := c.Sessions(t.Context(), dir)
		if err != nil || len(list) != 1 || list[0].ID != s.ID {
			t.Errorf("%q: %v, %v", name, list, err)
		}
		if err := c.DeleteSession(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
}
