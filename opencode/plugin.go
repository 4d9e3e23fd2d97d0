package opencode

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

//go:embed plugin.js
var pluginSource []byte

// WritePlugin writes the plugin into a directory, for a server that somebody
// else runs, and returns the file's path: name it, as a file URL, in the
// "plugin" list of OpenCode's configuration.
func WritePlugin(directory string) (string, error) { return writePlugin(directory) }

// writePlugin writes the plugin under a name that changes with it, so that a
// server that runs keeps the one that it has loaded.
func writePlugin(directory string) (string, error) {
	if directory == "" {
		return "", errors.New("no directory was given for it")
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(pluginSource)
	path := filepath.Join(directory, "threadtree-"+hex.EncodeToString(sum[:6])+".js")
	if there, err := os.ReadFile(path); err == nil && string(there) == string(pluginSource) {
		return path, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return path, renameio.WriteFile(path, pluginSource, 0o600)
}

// settings is OpenCode's configuration as it is given to a server: what the
// caller wants over what the environment has, and the plugin.
func settings(given string, env []string, plugin string) (string, error) {
	merged := make(map[string]any)
	for where, text := range map[string]string{"OPENCODE_CONFIG_CONTENT": lookup(env, "OPENCODE_CONFIG_CONTENT"), "Config": given} {
		if where == "OPENCODE_CONFIG_CONTENT" && given != "" {
			continue
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &merged); err != nil {
			return "", fmt.Errorf("%w: %s is no JSON object: %w", ErrNoServer, where, err)
		}
	}
	plugins, _ := merged["plugin"].([]any)
	merged["plugin"] = append(plugins, (&url.URL{Scheme: "file", Path: filepath.ToSlash(plugin)}).String())
	encoded, err := json.Marshal(merged)
	return string(encoded), err
}

// environment is what a server is started with.
func (s *Server) environment(config string) []string {
	env := without(
		s.o.Env, "OPENCODE_CONFIG_CONTENT", "OPENCODE_EXPERIMENTAL_WORKSPACES", "OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME",
	)
	env = append(
		env, "OPENCODE_CONFIG_CONTENT="+config, "OPENCODE_EXPERIMENTAL_WORKSPACES=1",
		"OPENCODE_SERVER_PASSWORD="+s.password, "OPENCODE_SERVER_USERNAME=opencode",
	)
	if s.o.OnlineInstall {
		return env
	}
	before := lookup(env, "NPM_CONFIG_OFFLINE")
	if before == "" {
		before = "unset"
	}
	return append(without(env, "NPM_CONFIG_OFFLINE"), "NPM_CONFIG_OFFLINE=true", "THREADTREE_NPM_OFFLINE="+before)
}

func without(env []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(keys, key)
	})
}
