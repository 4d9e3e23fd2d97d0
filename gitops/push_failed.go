package gitops

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// explain turns a failed push into what it means: not by git's words, but by
// what the remote has.
func (p *pushing) explain(ctx context.Context, out []byte, err error) error {
	err = redacted(err)
	if ctx.Err() != nil || exitCode(err) < 0 {
		return failure("push", fmt.Sprintf("whether %s has taken %s is not known: there was no answer", p.remote, p.branch),
			"see whether the remote can be reached, and push again", err)
	}
	reason, refused := refusal(string(out))
	if !refused {
		return p.failed(err, "see whether the remote can be reached and whether this user may push to it")
	}
	theirs, known := p.remoteTip(ctx)
	if known && theirs != "" && theirs != p.at.Head {
		switch has, lookErr := p.comparer.ancestor(ctx, theirs, p.at.Head); {
		case p.lease != "" && theirs != p.lease:
			return p.ahead(err, theirs, "has moved since it was last fetched")
		case p.lease == "" && (lookErr != nil || !has):
			// git can't say of a commit that isn't here, and then it is new.
			return p.ahead(err, theirs, "has commits that the workspace hasn't")
		}
	}
	if reason != "" {
		err = withReason(err, reason)
	}
	return p.failed(err, "see what the remote says; a protected branch or a hook there may refuse it")
}

func (p *pushing) ahead(err error, theirs, what string) error {
	hint := fmt.Sprintf("look at them: git -C %s fetch %s; then bring them in, or, if they can go, push again by force, with lease", quoted(p.at.Directory), quoted(p.remote))
	return &workspace.Error{
		Code: workspace.ErrNotFastForward, ThreadID: p.req.Workspace.ThreadID, Hint: hint, Err: err, Option: workspace.OptionForceWithLease,
		Message: fmt.Sprintf("%s of %s %s (it is at %s); nothing was pushed", p.branch, p.remote, what, short(theirs)),
	}
}

// failed keeps git's and the remote's last words: they say why.
func (p *pushing) failed(err error, hint string) error {
	message := fmt.Sprintf("%s did not take %s", p.remote, p.branch)
	if g, ok := errors.AsType[*GitError](err); ok {
		if words := lastWords(g.Stderr); words != "" {
			message += ": " + words
		}
	}
	return &workspace.Error{Code: workspace.ErrGitFailed, ThreadID: p.req.Workspace.ThreadID, Message: message, Hint: hint, Err: err}
}

// remoteTip asks the remote where it has the branch, "" for nowhere.
func (p *pushing) remoteTip(ctx context.Context) (sha string, known bool) {
	out, err := p.v.r.git.line(ctx, p.command("ls-remote", "--heads", "--", p.address, localRefs+p.branch))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(out) {
		if sha, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && ref == localRefs+p.branch {
			return sha, true
		}
	}
	return "", true
}

// refusal finds the line of "git push --porcelain" that says that a ref was
// not taken, and the reason in it.
func refusal(out string) (reason string, refused bool) {
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) == 3 && fields[0] == "!" {
			return fields[2], true
		}
	}
	return "", false
}

// withReason adds a line to what git said.
func withReason(err error, reason string) error {
	g, ok := errors.AsType[*GitError](err)
	if !ok {
		return err
	}
	with := *g
	with.Stderr = strings.TrimSpace(with.Stderr + "\n" + redact(reason))
	return &with
}

// maxWords is how many lines of git's are told.
const maxWords = 6

// lastWords joins the last lines of an error output, without git's general
// ones and those on its progress.
func lastWords(stderr string) string {
	var words []string
	for line := range strings.SplitSeq(strings.ReplaceAll(stderr, "\r", "\n"), "\n") {
		line = strings.TrimSpace(line)
		said := strings.TrimSpace(strings.TrimPrefix(line, "remote:"))
		switch {
		case said == "", progressLine.MatchString(said), strings.HasPrefix(line, "hint:"), strings.HasPrefix(line, "error: failed to push some refs"):
		default:
			words = append(words, said)
		}
	}
	return strings.Join(words[max(0, len(words)-maxWords):], "; ")
}

// progressLine is what git says of how far it is.
var progressLine = regexp.MustCompile(`^([A-Z][a-z]+( [a-z]+)*: +(\d+% \(\d+/\d+\)|\d+, done\.)|Delta compression using |Total \d+ \(delta )`)

// secrets are parts of addresses that nobody must see: who logs in and by
// what, and tokens in a query.
var secrets = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/?#]*@`), "$1"},
	{regexp.MustCompile(`(?i)([?&][a-z_-]*(?:token|secret|password|key)=)[^\s&#'"]*`), "$1…"},
}

// redact takes the secrets out of a text.
func redact(text string) string {
	for _, s := range secrets {
		text = s.pattern.ReplaceAllString(text, s.instead)
	}
	return text
}

// redacted is the error with nothing secret in what git said.
func redacted(err error) error {
	g, ok := errors.AsType[*GitError](err)
	if !ok {
		return err
	}
	clean := *g
	clean.Stderr = redact(clean.Stderr)
	clean.Args = make([]string, len(g.Args))
	for i, arg := range g.Args {
		clean.Args[i] = redact(arg)
	}
	return &clean
}
