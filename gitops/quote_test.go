package gitops

import (
	"os/exec"
	"testing"
)

func TestQuotedIsReadByAShellAsItWas(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "plain/a-b_1.x", "a b", "it's", "$HOME", "`x`", `back\slash`, "new\nline", "*", "~", "-x", "é", "a;b", `"`} {
		out, err := exec.Command("sh", "-c", "printf %s. "+quoted(word)).Output()
		if err != nil || string(out) != word+"." {
			t.Errorf("%q as %s is read as %q, %v", word, quoted(word), out, err)
		}
	}
	if got := quoted("/srv/app/.git"); got != "/srv/app/.git" {
		t.Errorf("a plain word is quoted: %s", got)
	}
}
