package gitops

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// installer is one way of installing what a lock file describes, in the form
// that leaves the lock file as it is.
type installer struct {
	// locks are the lock files that ask for it; any one will do.
	locks []string
	// also has to be there besides, "" for nothing.
	also string
	argv []string
	env  []string
}

// nodeInstallers are in the order in which they win where several programs'
// lock files lie side by side.
var nodeInstallers = []installer{
	{locks: []string{"pnpm-lock.yaml"}, argv: []string{"pnpm", "install", "--frozen-lockfile"}},
	{locks: []string{"bun.lock", "bun.lockb"}, argv: []string{"bun", "install", "--frozen-lockfile"}},
	{locks: []string{"yarn.lock"}, argv: []string{"yarn", "install", "--frozen-lockfile"}},
	{locks: []string{"npm-shrinkwrap.json", "package-lock.json"}, argv: []string{"npm", "ci"}},
}

// pythonInstallers are ordered in the same way.
var pythonInstallers = []installer{
	{locks: []string{"uv.lock"}, also: "pyproject.toml", argv: []string{"uv", "sync", "--frozen"}},
	{locks: []string{"poetry.lock"}, also: "pyproject.toml", argv: []string{"poetry", "install", "--no-interaction"}},
	{locks: []string{"Pipfile.lock"}, argv: []string{"pipenv", "sync"}},
}

// otherInstallers each have a language to themselves.
var otherInstallers = []installer{
	{locks: []string{"go.sum", "go.mod"}, also: "go.mod", argv: []string{"go", "mod", "download"}},
	{locks: []string{"Cargo.lock"}, also: "Cargo.toml", argv: []string{"cargo", "fetch", "--locked"}},
	{
		locks: []string{"Gemfile.lock"}, also: "Gemfile",
		argv: []string{"bundle", "install"}, env: []string{"BUNDLE_FROZEN=true"},
	},
	{locks: []string{"composer.lock"}, also: "composer.json", argv: []string{"composer", "install", "--no-interaction"}},
	{locks: []string{"mix.lock"}, also: "mix.exs", argv: []string{"mix", "deps.get", "--check-locked"}},
	{locks: []string{"packages.lock.json"}, argv: []string{"dotnet", "restore", "--locked-mode"}},
}

// packageJSON is the file that every Node package has.
const packageJSON = "package.json"

// wantedInstall is an installer that a lock file asked for.
type wantedInstall struct {
	lock string
	argv []string
	env  []string
}

// detectInstalls returns what the lock files in a folder ask for: at most one
// program a language. The folder is looked at through root, so that a link
// out of it counts for nothing.
func detectInstalls(root *os.Root, folder string) []wantedInstall {
	has := func(name string) bool {
		info, err := root.Stat(path.Join(folder, name))
		return err == nil && info.Mode().IsRegular()
	}
	var found []wantedInstall
	if in, ok := detectNode(root, folder, has); ok {
		found = append(found, in)
	}
	for _, in := range pythonInstallers {
		if in, ok := in.wanted(has); ok {
			found = append(found, in)
			break
		}
	}
	for _, in := range otherInstallers {
		if in, ok := in.wanted(has); ok {
			found = append(found, in)
		}
	}
	return found
}

func (i installer) wanted(has func(string) bool) (wantedInstall, bool) {
	if i.also != "" && !has(i.also) {
		return wantedInstall{}, false
	}
	for _, lock := range i.locks {
		if has(lock) {
			return wantedInstall{lock: lock, argv: i.argv, env: i.env}, true
		}
	}
	return wantedInstall{}, false
}

// detectNode picks the program that package.json names in packageManager, if
// its lock file is there, or else the first whose lock file is.
func detectNode(root *os.Root, folder string, has func(string) bool) (wantedInstall, bool) {
	if !has(packageJSON) {
		return wantedInstall{}, false
	}
	name, version := packageManager(root, folder)
	var chosen wantedInstall
	for _, in := range nodeInstallers {
		wanted, ok := in.wanted(has)
		if ok && (chosen.argv == nil || wanted.argv[0] == name) {
			chosen = wanted
		}
	}
	if chosen.argv == nil {
		return wantedInstall{}, false
	}
	if chosen.argv[0] == "yarn" && modernYarn(root, folder, has, name, version) {
		chosen.argv = []string{"yarn", "install", "--immutable"}
	}
	return chosen, true
}

// packageManager returns the name and the major version in package.json's
// packageManager ("yarn@4.1.0"), "" and 0 where it says nothing.
func packageManager(root *os.Root, folder string) (name string, major int) {
	content, err := root.ReadFile(path.Join(folder, packageJSON))
	if err != nil {
		return "", 0
	}
	var manifest struct {
		PackageManager string `json:"packageManager"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return "", 0
	}
	name, version, _ := strings.Cut(manifest.PackageManager, "@")
	number, _, _ := strings.Cut(version, ".")
	major, _ = strconv.Atoi(number)
	return name, major
}

// modernYarn tells yarn 2 and later from yarn 1, which has another option for
// the same thing.
func modernYarn(root *os.Root, folder string, has func(string) bool, name string, version int) bool {
	if name == "yarn" && version > 0 {
		return version >= 2
	}
	if has(".yarnrc.yml") {
		return true
	}
	lock, err := root.ReadFile(path.Join(folder, "yarn.lock"))
	return err == nil && strings.Contains("\n"+string(lock), "\n__metadata:")
}

// isFolder reports whether name is a folder below root.
func isFolder(root *os.Root, name string) bool {
	info, err := root.Stat(name)
	return err == nil && info.Mode().Type() == fs.ModeDir
}
