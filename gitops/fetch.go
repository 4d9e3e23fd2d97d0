package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// fetcher brings single branches of remotes up to date. Local branches are
// never touched: each fetch names the one tracking ref that it writes.
type fetcher struct {
	r        *Repository
	project  workspace.Project
	settings *settings
	timeout  time.Duration
	inherit  []*os.File
	tell     func(workspace.Event)
}

// fetchResult is what became of the fetch of a branch from one remote.
type fetchResult struct {
	remote string
	// absent is true where the remote answered and has no such branch.
	absent bool
	// reached is true where the remote answered.
	reached bool
	// err is why the tracking ref may be out of date, nil if it isn't.
	err error
}

// fetch brings a branch from each of the remotes, all within one time limit.
func (f *fetcher) fetch(ctx context.Context, branch string, remotes []string) ([]fetchResult, error) {
	if len(remotes) == 0 {
		return nil, nil
	}
	f.tell(workspace.Event{Phase: workspace.PhaseFetch, Message: fmt.Sprintf("Fetching %s from %s", branch, strings.Join(remotes, " and "))})
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	results := make([]fetchResult, len(remotes))
	var group errgroup.Group
	if _, err := os.Lstat(filepath.Join(f.project.ID, "shallow")); err == nil {
		group.SetLimit(1) // fetches of a shallow clone share a lock
	}
	for i, remote := range remotes {
		group.Go(func() error {
			results[i] = f.one(bounded, remote, branch)
			return nil
		})
	}
	_ = group.Wait()
	return results, ctx.Err()
}

func (f *fetcher) one(ctx context.Context, remote, branch string) fetchResult {
	result := fetchResult{remote: remote}
	for try := 1; ; try++ {
		if result.err = f.update(ctx, remote, branch); result.err == nil {
			result.reached = true
			return result
		}
		if ctx.Err() != nil {
			return result
		}
		// git says in words alone whether the remote has no such branch or
		// something else went wrong. This question has an exit code for it.
		out, err := f.run(ctx, false, "ls-remote", "--exit-code", "--heads", "--", remote, "refs/heads/"+branch)
		switch exitCode(err) {
		case 0:
			result.reached = true
		case 2:
			result.reached, result.absent, result.err = true, true, nil
			return result
		default:
			return result
		}
		// Another fetch of the same branch may have been faster.
		sha, _, _ := strings.Cut(string(out), "\t")
		if now, err := f.r.tip(ctx, f.project, trackingRef(remote, branch)); err == nil && now == sha {
			result.err = nil
			return result
		}
		if try == 2 {
			return result
		}
	}
}

// update fetches one branch into its tracking ref.
func (f *fetcher) update(ctx context.Context, remote, branch string) error {
	_, err := f.run(ctx, true, "fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--no-auto-maintenance", "--no-prune", "--refmap=", "--", remote, "+refs/heads/"+branch+":"+trackingRef(remote, branch))
	return err
}

func (f *fetcher) run(ctx context.Context, write bool, args ...string) ([]byte, error) {
	return f.r.git.run(ctx, command{
		dir: workDir(f.project), args: args, write: write, inherit: f.inherit,
		config: append(f.settings.hooksOff(false), "fetch.writeCommitGraph=false"),
		env:    f.r.sshEnv(f.settings),
	})
}

func trackingRef(remote, branch string) string { return "refs/remotes/" + remote + "/" + branch }

// tracked returns the commit that a tracking ref stands at, "" if there is
// none. A ref that can't be read is an error: it would stay behind in silence.
func (f *fetcher) tracked(ctx context.Context, remote, branch string) (string, error) {
	ref := trackingRef(remote, branch)
	sha, err := f.r.tip(ctx, f.project, ref)
	if err == nil && strings.Trim(sha, "0") == "" {
		sha = ""
		// A loose file without a commit in it hides even a packed ref.
		var info fs.FileInfo
		if info, err = os.Lstat(filepath.Join(f.project.ID, filepath.FromSlash(ref))); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
			return "", nil
		}
	}
	if err == nil && sha == "" {
		err = errors.New("it holds no commit")
	}
	if err != nil {
		return "", &workspace.Error{
			Code:    workspace.ErrGitFailed,
			Op:      "create",
			Message: fmt.Sprintf("%s/%s can't be read, so that it would stay behind its remote; nothing was made", remote, branch),
			Hint:    fmt.Sprintf("remove the broken ref (git update-ref -d %s, or its file in the git directory) and fetch again", quoted(ref)),
			Err:     err,
		}
	}
	return sha, nil
}

// candidates are the remotes on which a branch's fresher side is looked for,
// in order: upstream, origin, and the one that the branch is set up with. A
// project with one remote of another name has that one.
func (f *fetcher) candidates(branch string, remotes []string) []string {
	var list []string
	for _, name := range []string{"upstream", "origin", f.settings.get("branch." + branch + ".remote")} {
		if slices.Contains(remotes, name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	if len(list) == 0 && len(remotes) == 1 {
		return remotes
	}
	return list
}

// asOf says how old the knowledge of a tracking ref is.
func (f *fetcher) asOf(ctx context.Context, remote, branch, sha string) string {
	last := f.lastUpdate(ctx, remote, branch, sha)
	if last.IsZero() {
		return "of unknown age"
	}
	return "as of " + age(f.r.now().Sub(last))
}

// lastUpdate is when the tracking ref was last written, as far as there are
// traces of it: its log, the last fetch, or its commit.
func (f *fetcher) lastUpdate(ctx context.Context, remote, branch, sha string) time.Time {
	log, err := os.ReadFile(filepath.Join(f.project.ID, "logs", filepath.FromSlash(trackingRef(remote, branch))))
	if err == nil {
		if at := lastLogTime(log); !at.IsZero() {
			return at
		}
	}
	if info, err := os.Stat(filepath.Join(f.project.ID, "FETCH_HEAD")); err == nil && info.Size() > 0 {
		return info.ModTime()
	}
	seconds, err := f.r.git.line(ctx, command{dir: workDir(f.project), args: []string{"show", "-s", "--format=%ct", sha, "--"}})
	if err != nil {
		return time.Time{}
	}
	return unixTime(seconds)
}

// lastLogTime returns the time of the last entry of a reflog.
func lastLogTime(log []byte) time.Time {
	log = bytes.TrimRight(log, "\n")
	line := log[bytes.LastIndexByte(log, '\n')+1:]
	head, _, _ := bytes.Cut(line, []byte("\t"))
	fields := bytes.Fields(head)
	if len(fields) < 2 {
		return time.Time{}
	}
	return unixTime(string(fields[len(fields)-2]))
}

func unixTime(seconds string) time.Time {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// age says a duration in the largest unit that fits.
func age(d time.Duration) string {
	unit := func(n time.Duration, name string) string {
		if n == 1 {
			return "1 " + name + " ago"
		}
		return fmt.Sprintf("%d %ss ago", n, name)
	}
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return unit(d/time.Minute, "minute")
	case d < 48*time.Hour:
		return unit(d/time.Hour, "hour")
	}
	return unit(d/(24*time.Hour), "day")
}
