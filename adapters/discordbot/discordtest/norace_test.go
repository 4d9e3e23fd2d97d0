//go:build !race

package discordtest_test

// racing is true where the race detector is on.
const racing = false
