package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func (p *place) agent(c Connection) *Agent {
	p.t.Helper()
	a, err := NewAgent(AgentConfig{Connection: c, Sessions: p.store, Places: p.manager, Rejoiner: p.provider})
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// ask prompts the thread's session and returns the answer's text and what was
// told meanwhile.
func (p *place) ask(a *Agent, thread, text string) (string, []workspace.AgentEvent) {
	p.t.Helper()
	var told []workspace.AgentEvent
	answer, err := a.Prompt(p.t.Context(), p.dir, thread, text, func(e workspace.AgentEvent) { told = append(told, e) })
	if err != nil {
		p.t.Fatalf("prompt: %s", detail(err))
	}
	return strings.Join(answer.Texts, "\n"), told
}

func TestPromptWorksInTheWorkspace(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	said, told := p.ask(a, "1", "hello there")
	if !strings.Contains(said, "you said: hello there") || !slices.ContainsFunc(told, func(e workspace.AgentEvent) bool {
		return e.Kind == workspace.AgentText && strings.Contains(e.Text, "hello there")
	}) {
		t.Errorf("%q, %v", said, told)
	}
	said, told = p.ask(a, "1", `call write {"filePath":"made.txt","content":"made\n"}`)
	if got, err := os.ReadFile(filepath.Join(w.Directory, "made.txt")); err != nil || string(got) != "made\n" {
		t.Errorf("%q, %v; %q, %v", got, err, said, told)
	}
	said, _ = p.ask(a, "1", `call bash {"command":"git add -A && git -c user.name=a -c user.email=a@b commit -qm made && git log --format=%s -1","description":"commit"}`)
	if got := p.run(w.Directory, "log", "-1", "--format=%s"); got != "made" {
		t.Errorf("last commit %q; %s", got, said)
	}
}

func TestWritesToTheMainCheckoutAreRefused(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	p.create("1", workspace.CreateOptions{Name: "one"})
	victim := filepath.Join(p.dir, "readme")
	before, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{
		fmt.Sprintf(`call write {"filePath":%q,"content":"gone\n"}`, victim),
		fmt.Sprintf(`call edit {"filePath":%q,"oldString":%q,"newString":"gone"}`, victim, strings.TrimSpace(string(before))),
		fmt.Sprintf(`call bash {"command":"echo gone > %s","description":"overwrite"}`, victim),
		fmt.Sprintf(`call bash {"command":"touch %s","description":"touch"}`, filepath.Join(p.dir, "new")),
	} {
		said, _ := p.ask(a, "1", call)
		t.Logf("%s\n%s", call, said)
		if got, err := os.ReadFile(victim); err != nil || string(got) != string(before) {
			t.Errorf("%s: %q, %v", call, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "new")); !os.IsNotExist(err) {
		t.Errorf("the command made a file in the main checkout")
	}
}

func TestSubdirectory(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	p.commit("app/f", "x\n")
	p.dir = filepath.Join(p.dir, "app")
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", `call write {"filePath":"here.txt","content":"x"}`)
	if _, err := os.Stat(filepath.Join(w.Directory, "app", "here.txt")); err != nil {
		t.Error(err)
	}
	p.create("2", workspace.CreateOptions{Name: "two"})
	if session, err := a.Fork(t.Context(), "1", "2"); err != nil {
		t.Error(detail(err))
	} else if got, err := client(t, s).Session(t.Context(), session.ID); err != nil || filepath.Base(got.Directory) != "app" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNobodyIsAsked has the project's own settings ask for each command, and an
// agent ask a question: both are refused, and the turn ends.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	p.commit("opencode.json", `{"$schema":"https://opencode.ai/config.json","permission":{"bash":"ask"}}`)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	_, told := p.ask(a, "1", `call bash {"command":"touch made","description":"make a file"}`)
	if _, err := os.Stat(filepath.Join(w.Directory, "made")); !os.IsNotExist(err) {
		t.Errorf("the command ran")
	}
	if !slices.ContainsFunc(told, func(e workspace.AgentEvent) bool { return e.Kind == workspace.AgentRefused }) {
		t.Errorf("%v", told)
	}
	said, told := p.ask(a, "1", `call question {"questions":[{"question":"Which?","header":"Which","options":[{"label":"a","description":"a"}]}]}`)
	t.Logf("%q, %v", said, told)
	if said, _ := p.ask(a, "1", "still there"); !strings.Contains(said, "still there") {
		t.Errorf("%q", said)
	}
}

func TestTurnIsStopped(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "hello")
	for name, stop := range map[string]func(cancel context.CancelFunc) error{
		"by cancelling": func(cancel context.CancelFunc) error { cancel(); return nil },
		"by aborting":   func(context.CancelFunc) error { return a.Abort(t.Context(), "1") },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		begun := make(chan struct{})
		var once sync.Once
		go func() {
			_, err := a.Prompt(ctx, p.dir, "1", `call bash {"command":"touch begun && sleep 600","description":"wait"}`, func(e workspace.AgentEvent) {
				if e.Kind == workspace.AgentTool {
					once.Do(func() { close(begun) })
				}
			})
			ended <- err
		}()
		<-begun
		for {
			if _, err := os.Stat(filepath.Join(w.Directory, "begun")); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err := stop(cancel); err != nil {
			t.Errorf("%s: %s", name, detail(err))
		}
		if err := <-ended; err == nil {
			t.Errorf("%s: the turn ended without an error", name)
		}
		if err := os.Remove(filepath.Join(w.Directory, "begun")); err != nil {
			t.Error(err)
		}
		if said, _ := p.ask(a, "1", "after "+name); !strings.Contains(said, "after "+name) {
			t.Errorf("%s: %q", name, said)
		}
	}
	if err := a.Abort(t.Context(), "none"); err != nil {
		t.Error(err)
	}
}

func TestSessionThatIsGoneIsReplaced(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "hello")
	before, err := p.store.Session(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t, s).DeleteSession(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	p.create("2", workspace.CreateOptions{Name: "two"})
	if _, err := a.Fork(t.Context(), "1", "2"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("fork of a session that is gone: %s", detail(err))
	}
	if _, err := a.Fork(t.Context(), "none", "2"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("fork of no session: %s", detail(err))
	}
	p.ask(a, "1", "hello again")
	after, err := p.store.Session(t.Context(), "1")
	if err != nil || after.ID == before.ID {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestForkKeepsTheModel(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "hello")
	source, err := p.store.Session(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	if _, err := c.Prompt(t.Context(), source.ID, Prompt{Text: "with the other", Model: &SessionModel{ID: "other", ProviderID: "fake"}}); err != nil {
		t.Fatal(err)
	}
	p.create("2", workspace.CreateOptions{Name: "two"})
	if _, err := a.Fork(t.Context(), "1", "2"); err != nil {
		t.Fatal(detail(err))
	}
	p.ask(a, "2", "which model is it in "+p.root)
	if !model().saw("other: which model is it in " + p.root) {
		t.Errorf("the fork went on with another model")
	}
}

func TestWithoutAWorkspace(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	p.ask(a, "1", `call write {"filePath":"here.txt","content":"x"}`)
	if _, err := os.Stat(filepath.Join(p.dir, "here.txt")); err != nil {
		t.Error(err)
	}
	p.create("2", workspace.CreateOptions{Name: "two"})
	if session, err := a.Fork(t.Context(), "1", "2"); err != nil || session.ParentID == "" {
		t.Errorf("%+v, %s", session, detail(err))
	}
	if _, err := a.Fork(t.Context(), "1", "2"); !errors.Is(err, workspace.ErrAlreadyExists) {
		t.Errorf("fork twice: %s", detail(err))
	}
}

func TestFork(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "the first word is apple")
	two := p.create("2", workspace.CreateOptions{Name: "two"})
	session, err := a.Fork(t.Context(), "1", "2")
	if err != nil {
		t.Fatal(detail(err))
	}
	c := client(t, s)
	got, err := c.Session(t.Context(), session.ID)
	if err != nil || got.WorkspaceID != two.ProviderID || got.Directory != two.Directory {
		t.Errorf("%+v, %v", got, err)
	}
	p.ask(a, "2", `call write {"filePath":"here.txt","content":"x"}`)
	if _, err := os.Stat(filepath.Join(two.Directory, "here.txt")); err != nil {
		t.Error(err)
	}
	messages, err := c.Messages(t.Context(), session.ID, 0)
	if err != nil || !strings.Contains(text(t, messages), "apple") {
		t.Errorf("%v, %v", text(t, messages), err)
	}
}

// TestHelpersOfTheAgentAreHeldToo has the agent hand work to one of its own.
func TestHelpersOfTheAgentAreHeldToo(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	victim := filepath.Join(p.dir, "readme")
	before, err := os.ReadFile(victim)
	if err != nil {
		t.Fatal(err)
	}
	hand := func(prompt string) string {
		arguments, err := json.Marshal(map[string]string{"description": "help", "prompt": prompt, "subagent_type": "general"})
		if err != nil {
			t.Fatal(err)
		}
		said, _ := p.ask(a, "1", "call task "+string(arguments))
		return said
	}
	said := hand(fmt.Sprintf(`call write {"filePath":%q,"content":"gone\n"}`, victim))
	if got, err := os.ReadFile(victim); err != nil || string(got) != string(before) {
		t.Errorf("%q, %v: %s", got, err, said)
	}
	said = hand(`call write {"filePath":"helped.txt","content":"x"}`)
	if _, err := os.Stat(filepath.Join(w.Directory, "helped.txt")); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestSessionThatLandsElsewhereIsRefused has a home whose name the server
// misreads.
func TestSessionThatLandsElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	s := common(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "%41")
	p := newPlaceAt(t, s, root, "project", nil)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	answer, err := a.Prompt(t.Context(), p.dir, "1", `call write {"filePath":"here.txt","content":"x"}`, nil)
	if _, statErr := os.Stat(filepath.Join(w.Directory, "here.txt")); (err == nil) != (statErr == nil) {
		t.Errorf("%+v, %s; in the workspace: %v", answer, detail(err), statErr)
	}
	if err != nil && !errors.Is(err, workspace.ErrProviderFailed) {
		t.Error(detail(err))
	}
}

// TestPromptAfterARestoreWithoutOpenCode has a workspace restored while the
// server was down: the conversation goes on all the same.
func TestPromptAfterARestoreWithoutOpenCode(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := &unplugged{Connection: s}
	p := newPlace(t, c, nil)
	a := p.agent(s)
	p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "the word is pear")
	before, err := p.store.Session(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.manager.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Fatal(detail(err))
	}
	c.cut.Store(true)
	if w, err := p.manager.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"}); err != nil || len(w.Warnings) == 0 {
		t.Fatalf("%+v, %s", w, detail(err))
	}
	c.cut.Store(false)
	p.ask(a, "1", "and now")
	after, err := p.store.Session(t.Context(), "1")
	if err != nil || after.ID != before.ID {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
}
