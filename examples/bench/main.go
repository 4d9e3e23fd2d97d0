// Command bench makes repositories and measures what threadtree does with them
// against the git program on the same work, in turns in the same run:
//
//	go run ./examples/bench
//	go run ./examples/bench --only list
//
// It prints a table of ratios with the most that each may be. A ratio above
// that is told and is no failure: machines differ, and are busy.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// options are the program's flags.
type options struct {
	Quick  bool   `name:"quick" help:"Few files and one round, to see that all of it runs; the ratios say nothing."`
	Rounds int    `name:"rounds" default:"7" help:"How often each is measured; the table has the medians."`
	Only   string `name:"only" placeholder:"TEXT" help:"The rows whose name has the text."`
	Dir    string `name:"dir" placeholder:"DIR" help:"Where to make the repositories. Default: in memory (/dev/shm) where there is that, else where temporary files go."`
	Disk   bool   `name:"disk" help:"A second table, of the same where temporary files go."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is one call of the program; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	code := -1
	parser, err := kong.New(
		&o, kong.Name("bench"), kong.Description("Measures threadtree against the git program, and prints a table of ratios."),
		kong.Writers(stdout, stderr), kong.Exit(func(c int) { code = c }),
	)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if code >= 0 {
		return code
	}
	if err == nil && o.Rounds < 1 {
		err = errors.New("--rounds has to be 1 or more")
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if err := measure(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// measure makes a table in each place.
func measure(ctx context.Context, o options, stdout, stderr io.Writer) error {
	for _, at := range places(o) {
		if err := tabulate(ctx, o, at, stdout, stderr); err != nil {
			return err
		}
	}
	return nil
}

// place is a directory to measure in.
type place struct{ dir, name string }

func places(o options) []place {
	if o.Dir != "" {
		return []place{{o.Dir, o.Dir}}
	}
	disk := place{os.TempDir(), "where temporary files go"}
	memory := place{"/dev/shm", "in memory"}
	if info, err := os.Stat(memory.dir); err != nil || !info.IsDir() {
		return []place{disk}
	}
	if o.Disk {
		return []place{memory, disk}
	}
	return []place{memory}
}

// tabulate measures all rows in a place, and prints them as they are known.
func tabulate(ctx context.Context, o options, at place, stdout, stderr io.Writer) error {
	l, err := newLab(o, at.dir)
	if err != nil {
		return err
	}
	defer l.remove(stderr)
	version, err := l.output(l.root, "version")
	if err != nil {
		return err
	}
	amount := plural(l.rounds, "round")
	if o.Quick {
		amount += " on little, whose ratios and verdicts say nothing"
	}
	fmt.Fprintf(stdout, "%s, %s; %s\n\n", at.name, version, amount)
	fmt.Fprintf(stdout, "| work | against | ratio | at most | |\n|---|---|---|---|---|\n")
	for _, s := range subjects() {
		if !s.wanted(o.Only) {
			continue
		}
		fmt.Fprintf(stderr, "%s …\n", s.rows[0].work)
		measured, err := s.measure(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", s.rows[0].work, err)
		}
		for i, r := range s.rows {
			fmt.Fprintln(stdout, r.line(measured[i]))
		}
	}
	return nil
}

// row is a line of the table.
type row struct {
	work, against string
	limit         float64
}

// line is the row with what was measured.
func (r row) line(m samples) string {
	ratio, verdict := m.ratio(), "met"
	if ratio > r.limit {
		verdict = "**not met**"
	}
	return fmt.Sprintf("| %s | %s, %s | %.2f (%s) | %.2f | %s |", r.work, r.against, shown(median(m.theirs)), ratio, shown(median(m.ours)), r.limit, verdict)
}

// subject is what is measured together, for one row or more.
type subject struct {
	rows    []row
	measure func(ctx context.Context, l *lab) ([]samples, error)
}

func (s subject) wanted(only string) bool {
	for _, r := range s.rows {
		if strings.Contains(r.work, only) {
			return true
		}
	}
	return false
}
