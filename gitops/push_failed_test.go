package gitops

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// viaSSH has git reach origin by a script in place of ssh.
func (h *host) viaSSH(address, script string) {
	h.t.Helper()
	h.script("../ssh", script)
	h.git("remote", "set-url", "origin", address)
	env := append(h.env, "GIT_SSH_COMMAND="+h.path("ssh"), "GIT_SSH_VARIANT=ssh", "ORIGIN="+h.origin)
	var err error
	if h.r, err = New(Options{Home: h.path("home"), Env: env}); err != nil {
		h.t.Fatal(err)
	}
}

// asHost does what ssh on a host does.
const asHost = `for what; do :; done
case "$what" in *receive-pack*) exec git receive-pack "$ORIGIN";; *) exec git upload-pack "$ORIGIN";; esac
`

func TestPushSaysWhereToLook(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.viaSSH("ssh://git@github.com:22/team/app.git", asHost)
	if got := h.pushed(false); got.URL != "https://github.com/team/app/compare/main...w?expand=1" {
		t.Errorf("%+v", got)
	}
	// A base that the remote doesn't have.
	h.w.Base = "local"
	h.git("branch", "local", "main")
	if got := h.pushed(false); got.URL != "https://github.com/team/app/compare/w?expand=1" {
		t.Errorf("%+v", got)
	}
	h.w.Base = "origin/main"
	if got := h.pushed(false); got.URL != "https://github.com/team/app/compare/main...w?expand=1" {
		t.Errorf("%+v", got)
	}
	// Commits of others are found there, too.
	h.gitIn(h.path("w"), "commit", "-q", "--amend", "-m", "better")
	h.refused(false, workspace.ErrNotFastForward)
}

func TestPushRefusedByTheRemote(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.script("../origin.git/hooks/pre-receive", `echo "GH006: Protected branch" >&2; echo "see https://user:s3cret@example.org/?private_token=s3cret" >&2; exit 1`)
	e := h.refused(false, workspace.ErrGitFailed)
	if !strings.Contains(e.Message, "GH006: Protected branch") || !strings.Contains(e.Message, "pre-receive hook declined") {
		t.Errorf("message %q", e.Message)
	}
	var told []string
	for _, event := range h.events {
		told = append(told, event.Message)
	}
	if all := strings.Join(told, "\n"); !strings.Contains(all, "GH006: Protected branch") || strings.Contains(all, "s3cret") {
		t.Errorf("told %q", told)
	}
	wantNoSecret(t, e)
	// On a branch that it has already, it isn't mistaken for another's commits.
	h.script("../origin.git/hooks/pre-receive", "exit 0")
	h.pushed(false)
	h.commit(h.path("w"), "own", "2\n", "more")
	h.script("../origin.git/hooks/pre-receive", "exit 1")
	h.refused(false, workspace.ErrGitFailed)
	h.refused(true, workspace.ErrGitFailed)
}

// wantNoSecret looks through an error and all that it wraps.
func wantNoSecret(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "s3cret") {
			t.Errorf("a secret in %s", text)
		}
		if g, ok := errors.AsType[*GitError](err); ok && strings.Contains(g.Stderr+strings.Join(g.Args, " "), "s3cret") {
			t.Errorf("a secret in %q, %q", g.Args, g.Stderr)
		}
	}
}

func TestPushIsNotLetIn(t *testing.T) {
	t.Parallel()
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.viaSSH("git@example.org:team/app.git", "echo 'git@example.org: Permission denied (publickey).' >&2; exit 255\n")
		if e := h.refused(false, workspace.ErrGitFailed); !strings.Contains(e.Message, "Permission denied (publickey)") {
			t.Errorf("message %q", e.Message)
		}
	})
	t.Run("https", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		defer server.Close()
		for _, credentials := range []string{"", "user:s3cret@", "s3cret@"} {
			h.git("remote", "set-url", "origin", strings.Replace(server.URL, "//", "//"+credentials, 1)+"/team/app.git")
			e := h.refused(false, workspace.ErrGitFailed)
			if !strings.Contains(e.Message, "Authentication failed") && !strings.Contains(e.Message, "could not read") {
				t.Errorf("message %q", e.Message)
			}
			wantNoSecret(t, e)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		server := httptest.NewServer(http.NotFoundHandler())
		address := server.URL
		server.Close()
		h.git("remote", "set-url", "origin", strings.Replace(address, "//", "//user:s3cret@", 1)+"/team/app.git")
		wantNoSecret(t, h.refused(false, workspace.ErrGitFailed))
	})
}

func TestPushEnds(t *testing.T) {
	t.Parallel()
	t.Run("where the remote hangs", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.viaSSH("ssh://example.org/app", "echo $$ >\"$ORIGIN/hanging\"; exec sleep 600\n")
		v := NewReviewer(h.r, ReviewOptions{PushTimeout: time.Second})
		_, err := v.Push(t.Context(), workspace.PushRequest{Project: h.open(h.dir), Workspace: h.w, Progress: quiet})
		wantCode(t, err, workspace.ErrTimeout)
	})
	t.Run("where a hook hangs", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.script(".git/hooks/pre-push", "sleep 600 & wait\n")
		v := NewReviewer(h.r, ReviewOptions{PushTimeout: time.Second})
		_, err := v.Push(t.Context(), workspace.PushRequest{Project: h.open(h.dir), Workspace: h.w, Progress: quiet})
		wantCode(t, err, workspace.ErrTimeout)
		h.isAt(h.origin, "refs/heads/w", "")
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h.script(".git/hooks/pre-push", "sleep 600 & wait\n")
		_, err := h.reviewer().Push(ctx, workspace.PushRequest{
			Project: h.open(h.dir), Workspace: h.w,
			Progress: func(workspace.Event) { cancel() },
		})
		wantCode(t, err, workspace.ErrTimeout)
	})
}

func TestLastWords(t *testing.T) {
	t.Parallel()
	const stderr = "Enumerating objects: 5, done.\nCounting objects:  20% (1/5)\rCounting objects: 100% (5/5), done.\n" +
		"Delta compression using up to 2 threads\nTotal 3 (delta 0), reused 0 (delta 0), pack-reused 0\n" +
		"remote: Resolving deltas: 100% (1/1), done.        \nremote: \nremote: no secrets here        \nhint: see git help\n" +
		"error: failed to push some refs to 'x'\nBuild: 50% of tests failed\n"
	if got, want := lastWords(stderr), "no secrets here; Build: 50% of tests failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := lastWords(strings.Repeat("a line\n", 100)); strings.Count(got, "a line") != maxWords {
		t.Errorf("%q", got)
	}
}
