package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func (p *place) agent(c Connection) *Agent {
	p.t.Helper()
	a, err := NewAgent(AgentConfig{Connection: c, Sessions: p.store, Places: p.manager})
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
