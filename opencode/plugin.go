package opencode

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	return path, writeWhole(path, pluginSource)
}

// settings is OpenCode's configuration as it is given to a server: what the
// caller wants over what the environment has, and the plugin.
func settings(given string, env []string, plugin string) (string, error) {
	merged := make(map[string]any)
	var plugins []any
	for _, from := range []struct{ name, text string }{
		{"OPENCODE_CONFIG_CONTENT", lookup(env, "OPENCODE_CONFIG_CONTENT")}, {"Config", given},
	} {
		layer, err := object(from.text)
		if err != nil {
			return "", fmt.Errorf("%w: %s must be a JSON object, without comments: %w", ErrNoServer, from.name, err)
		}
		list, ok := layer["plugin"].([]any)
		if layer["plugin"] != nil && !ok {
			return "", fmt.Errorf("%w: plugin in %s must be a list", ErrNoServer, from.name)
		}
		plugins = append(plugins, list...)
		overlay(merged, layer)
	}
	merged["plugin"] = append(plugins, (&url.URL{Scheme: "file", Path: filepath.ToSlash(plugin)}).String())
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	// OpenCode fills in {env:NAME} and {file:PATH} before it decodes.
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(merged)
	return strings.TrimSpace(encoded.String()), err
}

// object decodes a JSON object; blank is an empty one.
func object(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var o map[string]any
	if err := decoder.Decode(&o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("it is null")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return o, nil
}

// overlay lays one object over another: objects in both are merged, the rest
// is replaced.
func overlay(under, over map[string]any) {
	for key, value := range over {
		below, both := under[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && both {
			overlay(below, above)
			continue
		}
		under[key] = value
	}
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
	before := cmp.Or(lookup(env, "NPM_CONFIG_OFFLINE"), lookup(env, "npm_config_offline"), "unset")
	return append(without(env, "NPM_CONFIG_OFFLINE", "npm_config_offline"), "NPM_CONFIG_OFFLINE=true", "THREADTREE_NPM_OFFLINE="+before)
}

func without(env []string, keys ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return slices.Contains(keys, key)
	})
}
