package gitops

import (
	"bytes"
	"strings"
	"testing"
)

func TestIdleProcessesAreNice(t *testing.T) {
	t.Parallel()
	for idle, want := range map[bool]string{true: "19", false: "0"} {
		var out bytes.Buffer
		code, _, err := execute(t.Context(), process{
			path: "/bin/sh", args: []string{"-c", "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; nice; done"}, stdout: &out, idle: idle,
		})
		last := strings.Fields(out.String())
		if err != nil || code != 0 || len(last) == 0 {
			t.Fatal(code, err)
		}
		if got := last[len(last)-1]; idle && got != want || !idle && got == "19" {
			t.Errorf("idle %t: %s", idle, got)
		}
	}
}
