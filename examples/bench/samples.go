package main

import (
	"fmt"
	"slices"
	"time"
)

// samples are the times that the same work took.
type samples struct{ ours, theirs []time.Duration }

func (s samples) ratio() float64 {
	return float64(median(s.ours)) / float64(max(median(s.theirs), 1))
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[len(sorted)/2]
}

// inTurns measures both in each round, and takes turns at who is first.
func (s *samples) inTurns(round int, ours, theirs func() error) error {
	both := []struct {
		into *[]time.Duration
		do   func() error
	}{{&s.theirs, theirs}, {&s.ours, ours}}
	if round%2 == 1 {
		slices.Reverse(both)
	}
	for _, side := range both {
		took, err := timed(side.do)
		if err != nil {
			return err
		}
		*side.into = append(*side.into, took)
	}
	return nil
}

func timed(do func() error) (time.Duration, error) {
	start := time.Now()
	err := do()
	return time.Since(start), err
}

// shown is a time as people read it.
func shown(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%d µs", d.Microseconds())
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
