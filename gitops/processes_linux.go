package gitops

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usingProcess is a process whose working directory is of interest.
type usingProcess struct {
	pid       int
	command   string
	directory string
}

// processWithin returns a process that has its working directory in a resolved
// directory. Those of other users can't be seen without privileges.
func processWithin(directory string) (usingProcess, bool) {
	return processIn(processes(), directory)
}

// processes returns those whose working directory can be seen, without their
// commands.
func processes() []usingProcess {
	var all []usingProcess
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + name + "/cwd"); err == nil && cwd != "/" {
			all = append(all, usingProcess{pid: pid, directory: cwd})
		}
	}
	return all
}

// processIn is processWithin for processes that were found.
func processIn(all []usingProcess, directory string) (usingProcess, bool) {
	for _, p := range all {
		if within(p.directory, directory) {
			name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "comm"))
			p.command = strings.TrimSpace(string(name))
			return p, true
		}
	}
	return usingProcess{}, false
}

// mountsWithin returns the mount points at or below a resolved directory.
func mountsWithin(directory string) []string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var points []string
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); within(point, directory) {
			points = append(points, point)
		}
	}
	return points
}
