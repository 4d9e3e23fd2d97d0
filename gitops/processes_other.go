//go:build !linux

package gitops

// usingProcess is a process whose working directory is of interest.
type usingProcess struct {
	pid       int
	command   string
	directory string
}

// processWithin knows of no process: there is no way to ask here.
func processWithin(string) (usingProcess, bool) { return usingProcess{}, false }

// mountsWithin knows of no mount point: there is no way to ask here.
func mountsWithin(string) []string { return nil }

func processes() []usingProcess { return nil }

func processIn([]usingProcess, string) (usingProcess, bool) { return usingProcess{}, false }
