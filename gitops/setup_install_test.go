package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDetectInstalls(t *testing.T) {
	t.Parallel()
	pkg := func(manager string) string { return `{"packageManager":"` + manager + `"}` }
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"nothing", map[string]string{"README": ""}, nil},
		{"npm", map[string]string{"package.json": "{}", "package-lock.json": "{}"}, []string{"npm ci"}},
		{"npm shrinkwrap", map[string]string{"package.json": "{}", "npm-shrinkwrap.json": "{}"}, []string{"npm ci"}},
		{"no lock file", map[string]string{"package.json": "{}"}, nil},
		{"lock file without its package", map[string]string{"package-lock.json": "{}", "Cargo.lock": "", "Gemfile.lock": "", "go.sum": "", "uv.lock": ""}, nil},
		{"pnpm", map[string]string{"package.json": "{}", "pnpm-lock.yaml": ""}, []string{"pnpm install --frozen-lockfile"}},
		{"bun", map[string]string{"package.json": "{}", "bun.lock": ""}, []string{"bun install --frozen-lockfile"}},
		{"bun of old", map[string]string{"package.json": "{}", "bun.lockb": ""}, []string{"bun install --frozen-lockfile"}},
		{"yarn 1", map[string]string{"package.json": "{}", "yarn.lock": "# yarn lockfile v1\n"}, []string{"yarn install --frozen-lockfile"}},
		{"yarn 4 by package.json", map[string]string{"package.json": pkg("yarn@4.1.0+sha224.0"), "yarn.lock": ""}, []string{"yarn install --immutable"}},
		{"yarn 1 by package.json", map[string]string{"package.json": pkg("yarn@1.22.22"), "yarn.lock": "", ".yarnrc.yml": ""}, []string{"yarn install --frozen-lockfile"}},
		{"yarn 2 by settings", map[string]string{"package.json": "{}", "yarn.lock": "", ".yarnrc.yml": ""}, []string{"yarn install --immutable"}},
		{"yarn 2 by lock file", map[string]string{"package.json": "{}", "yarn.lock": "# generated\n\n__metadata:\n  version: 8\n"}, []string{"yarn install --immutable"}},
		{"pnpm before the others", map[string]string{"package.json": "{}", "pnpm-lock.yaml": "", "bun.lock": "", "yarn.lock": "", "package-lock.json": ""}, []string{"pnpm install --frozen-lockfile"}},
		{"bun before yarn", map[string]string{"package.json": "{}", "bun.lock": "", "yarn.lock": "", "package-lock.json": ""}, []string{"bun install --frozen-lockfile"}},
		{"yarn before npm", map[string]string{"package.json": "{}", "yarn.lock": "", "package-lock.json": ""}, []string{"yarn install --frozen-lockfile"}},
		{"package.json decides", map[string]string{"package.json": pkg("npm@10.0.0"), "pnpm-lock.yaml": "", "package-lock.json": ""}, []string{"npm ci"}},
		{"package.json names one without a lock file", map[string]string{"package.json": pkg("pnpm@9.0.0"), "package-lock.json": ""}, []string{"npm ci"}},
		{"package.json is broken", map[string]string{"package.json": "{", "package-lock.json": ""}, []string{"npm ci"}},
		{"uv", map[string]string{"pyproject.toml": "", "uv.lock": "", "poetry.lock": ""}, []string{"uv sync --frozen"}},
		{"poetry", map[string]string{"pyproject.toml": "", "poetry.lock": "", "Pipfile.lock": ""}, []string{"poetry install --no-interaction"}},
		{"pipenv", map[string]string{"Pipfile": "", "Pipfile.lock": ""}, []string{"pipenv sync"}},
		{"go", map[string]string{"go.mod": "module x", "go.sum": ""}, []string{"go mod download"}},
		{"go without sums", map[string]string{"go.mod": "module x"}, []string{"go mod download"}},
		{"cargo", map[string]string{"Cargo.toml": "", "Cargo.lock": ""}, []string{"cargo fetch --locked"}},
		{"bundler", map[string]string{"Gemfile": "", "Gemfile.lock": ""}, []string{"BUNDLE_FROZEN=true bundle install"}},
		{"composer", map[string]string{"composer.json": "{}", "composer.lock": "{}"}, []string{"composer install --no-interaction"}},
		{"mix", map[string]string{"mix.exs": "", "mix.lock": ""}, []string{"mix deps.get --check-locked"}},
		{"dotnet", map[string]string{"a.csproj": "", "packages.lock.json": "{}"}, []string{"dotnet restore --locked-mode"}},
		{
			"several languages",
			map[string]string{"package.json": "{}", "package-lock.json": "", "go.mod": "module x", "pyproject.toml": "", "uv.lock": "", "Cargo.toml": "", "Cargo.lock": ""},
			[]string{"npm ci", "uv sync --frozen", "go mod download", "cargo fetch --locked"},
		},
		{"a folder is no lock file", map[string]string{"package.json": "{}", "package-lock.json/x": ""}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			for _, folder := range []string{".", "sub/folder"} {
				for name, content := range tt.files {
					path := filepath.Join(top, folder, name)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			root, err := os.OpenRoot(top)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			for _, folder := range []string{".", "sub/folder"} {
				var got []string
				for _, in := range detectInstalls(root, folder) {
					got = append(got, strings.Join(slices.Concat(in.env, in.argv), " "))
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("in %s: got %q, want %q", folder, got, tt.want)
				}
			}
		})
	}
}

func TestDetectInstallsFollowsNoLinkOut(t *testing.T) {
	t.Parallel()
	outside, top := t.TempDir(), t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		path := filepath.Join(outside, name)
		if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(top, "sub")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, folder := range []string{".", "sub"} {
		if got := detectInstalls(root, folder); len(got) > 0 {
			t.Errorf("in %s: got %v, want nothing", folder, got)
		}
	}
}

func TestParseIncludeNamesFolders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		names   []string
		not     []string
	}{
		{".env", nil, []string{"a", ".env", "node_modules"}},
		{"/.cache/", nil, []string{".cache"}},
		{"**/.env", nil, []string{"a", "a/b"}},
		{"*/.env", nil, []string{"a"}},
		{"a/.env", []string{"a"}, []string{"b", "a/b", "b/a"}},
		{"/a/b/c", []string{"a", "a/b"}, []string{"b", "a/b/c", "a/c"}},
		{"a/**/.env", []string{"a"}, []string{"a/b", "a/node_modules", "b"}},
		{"**/.vscode/settings.json", []string{".vscode", "x/.vscode", "x/y/.vscode"}, []string{"x", "x/.vscode/y"}},
		{"packages/*/dist/x", []string{"packages", "packages/a/dist"}, []string{"packages/a", "packages/a/b/dist"}},
		{"p[!a]/x", []string{"pb"}, []string{"pa", "pbc"}},
		{"p*/x   ", []string{"p", "pack"}, []string{"p/x"}},
		{`a\*/x`, []string{"a*"}, []string{"ab"}},
		{"[/x", nil, []string{"[", "["}},
		{"!a/b", nil, []string{"a"}},
	}
	for _, tt := range tests {
		lines := parseInclude("\uFEFF# comment\r\n\n  \n" + tt.pattern + "\r\n")
		if len(lines) != 1 || lines[0].text != tt.pattern {
			t.Errorf("%q: parsed as %+v", tt.pattern, lines)
			continue
		}
		for _, folder := range tt.names {
			if !lines[0].names(folder) {
				t.Errorf("%q doesn't name %q", tt.pattern, folder)
			}
		}
		for _, folder := range tt.not {
			if lines[0].names(folder) {
				t.Errorf("%q names %q", tt.pattern, folder)
			}
		}
	}
}

func TestLastLinesAreFitToBeShown(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, output, want string }{
		{"empty", " \n\r\n", ""},
		{"last five", "1\n2\n3\n4\n\n5\n6\n", "2\n3\n4\n5\n6"},
		{"colours and titles", "\x1b[1;31merror\x1b[0m\x1b[K: it\x07 broke\x1b[", "error: it broke"},
		{"progress drawn over itself", "10%\r50%\r100%\n", "10%\n50%\n100%"},
		{"long", strings.Repeat("ä", outputWidth+1), strings.Repeat("ä", outputWidth-1) + "…"},
	}
	for _, tt := range tests {
		if got := lastLines(tt.output); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestByteSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1500: "1.5 kB", 2_000_000: "2.0 MB", 3e15: "3000.0 TB"} {
		if got := byteSize(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
