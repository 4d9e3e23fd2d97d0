package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/opencode"
	"github.com/threadtree/threadtree/workspace"
)

// opencodeTimeout bounds what one command waits for OpenCode: it may have to
// be started.
const opencodeTimeout = 45 * time.Second

// providers are the provider that makes workspaces and those that may have
// made the ones that there are.
type providers struct {
	create     workspace.Provider
	all        []workspace.Provider
	recoverers []workspace.Recoverer
	closer     io.Closer
}

// providers puts git and OpenCode together. OpenCode is asked for nothing, and
// started only, where a command comes to need it.
func (a *app) providers(git *gitops.Provider, records opencode.Records, home string) (providers, error) {
	connection, closer, err := a.connect(home)
	if err != nil {
		return providers{}, err
	}
	oc, err := opencode.NewProvider(opencode.ProviderConfig{
		Connection: connection, Git: git, Records: records, Auto: a.opts.Provider == "auto", Timeout: opencodeTimeout,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return providers{}, err
	}
	p := providers{create: git, all: []workspace.Provider{git, oc}, closer: closer}
	if a.opts.Provider != workspace.ProviderGit {
		p.create, p.recoverers = oc, []workspace.Recoverer{oc}
	}
	return p, nil
}

// connect returns the way to OpenCode: the server at the address that was
// given, or one of our own.
func (a *app) connect(home string) (opencode.Connection, io.Closer, error) {
	if a.opts.OpenCodeURL == "" {
		d := opencode.NewOnDemand(opencode.ServerOptions{
			StateDir: filepath.Join(home, "opencode"), Logger: slog.New(slog.DiscardHandler),
		})
		return d, d, nil
	}
	client, err := opencode.NewClient(a.opts.OpenCodeURL, opencode.ClientOptions{
		Username: os.Getenv("OPENCODE_SERVER_USERNAME"), Password: os.Getenv("OPENCODE_SERVER_PASSWORD"),
	})
	if err != nil {
		return nil, nil, &usageError{err.Error()}
	}
	return opencode.Attached{C: client}, io.NopCloser(nil), nil
}

// pluginCommand writes the plugin for an OpenCode that somebody else runs.
type pluginCommand struct{}

// Run writes it and says what to do with it.
func (c *pluginCommand) Run(_ context.Context, a *app) error {
	home, err := filepath.Abs(a.opts.Home)
	if err != nil {
		return err
	}
	path, err := opencode.WritePlugin(filepath.Join(home, "opencode"))
	if err != nil {
		return &workspace.Error{
			Code: workspace.ErrPermissionDenied, Message: "the plugin could not be written: " + err.Error(),
			Hint: "see that this user may write to " + home, Err: err,
		}
	}
	if a.opts.JSON {
		return a.printJSON(map[string]string{"plugin": path})
	}
	address, err := json.Marshal((&url.URL{Scheme: "file", Path: path}).String())
	if err != nil {
		return err
	}
	return a.print(fmt.Sprintf("%s\nin opencode.json: \"plugin\": [%s]\nand start it with: OPENCODE_EXPERIMENTAL_WORKSPACES=1 opencode serve\n", visible(path), address))
}
