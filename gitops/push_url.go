package gitops

import (
	"net/url"
	"regexp"
	"strings"
)

// repoAddress is where a remote's repository is found on the web. It has no
// credentials.
type repoAddress struct {
	// scheme is http or https, host has its port, if that is one of the web's.
	scheme, host string
	// path are the parts of the repository's path.
	path []string
}

// hostName is a name of a host, in lower case, with a port or without.
var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// sshHosts are hosts of known services that take SSH alone.
var sshHosts = map[string]string{
	"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com", "altssh.bitbucket.org": "bitbucket.org",
}

// parseAddress reads the address of a remote in any of git's spellings. ok is
// false for a path, and for anything that isn't understood.
func parseAddress(address string) (a repoAddress, ok bool) {
	scheme, rest, isURL := strings.Cut(address, "://")
	var host, path string
	if isURL {
		rest, _, _ = strings.Cut(rest, "#")
		rest, _, _ = strings.Cut(rest, "?")
		host, path, ok = strings.Cut(rest, "/")
	} else {
		// host:path, unless a slash comes first.
		host, path, ok = strings.Cut(address, ":")
		ok = ok && !strings.Contains(host, "/")
	}
	if !ok {
		return repoAddress{}, false
	}
	host = strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	a.scheme = "https"
	switch strings.ToLower(scheme) {
	case "http":
		a.scheme = "http"
	case "https":
	case "ssh", "git", "git+ssh", "ssh+git":
		host, _, _ = strings.Cut(host, ":") // the port is not the web's
	default:
		if isURL {
			return repoAddress{}, false
		}
	}
	if other, known := sshHosts[host]; known {
		host = other
	}
	a.host = host
	return a, hostName.MatchString(host) && a.setPath(path, isURL)
}

func (a *repoAddress) setPath(path string, escaped bool) bool {
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	for part := range strings.SplitSeq(path, "/") {
		if escaped {
			plain, err := url.PathUnescape(part)
			if err != nil {
				return false
			}
			part = plain
		}
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "/\\") || strings.HasPrefix(part, "~") || strings.ContainsFunc(part, isControl) {
			return false
		}
		a.path = append(a.path, part)
	}
	return true
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }

// page is a page of the repository on the web.
func (a repoAddress) page(parts ...string) string {
	escaped := make([]string, 0, len(a.path)+len(parts))
	for _, part := range append(append([]string(nil), a.path...), parts...) {
		escaped = append(escaped, url.PathEscape(part))
	}
	return a.scheme + "://" + a.host + "/" + strings.Join(escaped, "/")
}

// compareURL returns the page on which the host of a remote compares a branch
// with the base, "" standing for its default branch, or opens a request for
// it. It is "" for a host that isn't known.
func compareURL(address, base, branch string) string {
	a, ok := parseAddress(address)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(a.host, ":")
	called := func(service string) bool { return strings.HasPrefix(name, service+".") }
	query := url.Values{}
	switch {
	case called("gitlab") && len(a.path) >= 2:
		query.Set("merge_request[source_branch]", branch)
		if base != "" {
			query.Set("merge_request[target_branch]", base)
		}
		return a.page("-", "merge_requests", "new") + "?" + query.Encode()
	case len(a.path) != 2:
		return ""
	case called("github"):
		return a.page("compare") + "/" + span(base, branch) + "?expand=1"
	case name == "bitbucket.org":
		query.Set("source", branch)
		if base != "" {
			query.Set("dest", base)
		}
		return a.page("pull-requests", "new") + "?" + query.Encode()
	case name == "codeberg.org", called("gitea"), called("forgejo"):
		return a.page("compare") + "/" + span(base, branch)
	}
	return ""
}

// span is the two branches in a path. A slash in a name stays one.
func span(base, branch string) string {
	escape := func(name string) string { return strings.ReplaceAll(url.PathEscape(name), "%2F", "/") }
	if base == "" {
		return escape(branch)
	}
	return escape(base) + "..." + escape(branch)
}
