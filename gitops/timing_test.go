package gitops

import (
	"slices"
	"testing"
	"time"
)

func took(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// reportRatio reports ours beside git's, measured in one run.
func reportRatio(b *testing.B, git, ours []time.Duration) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(median(git)), "ms-git")
	b.ReportMetric(milliseconds(median(ours)), "ms-ours")
	b.ReportMetric(float64(median(ours))/float64(median(git)), "ratio")
}
