package gitops

import (
	"net/url"
	"strings"
	"testing"
)

func TestCompareURL(t *testing.T) {
	t.Parallel()
	const (
		github   = "https://github.com/o/r/compare/main...x?expand=1"
		gitlab   = "https://gitlab.com/g/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=x&merge_request%5Btarget_branch%5D=main"
		codeberg = "https://codeberg.org/o/r/compare/main...x"
	)
	tests := []struct{ address, want string }{
		{"https://github.com/o/r.git", github},
		{"https://github.com/o/r", github},
		{"https://github.com/o/r/", github},
		{"https://GitHub.com/o/r.git", github},
		{"https://user:s3cret@github.com/o/r.git", github},
		{"https://s3cret@github.com/o/r.git", github},
		{"https://user:s3@cret@github.com/o/r.git", github},
		{"https://github.com/o/r.git?token=s3cret#s3cret", github},
		{"git@github.com:o/r.git", github},
		{"github.com:o/r.git", github},
		{"git@github.com:/o/r.git", github},
		{"ssh://git@github.com/o/r.git", github},
		{"ssh://git@github.com:22/o/r.git", github},
		{"ssh://git@ssh.github.com:443/o/r.git", github},
		{"git+ssh://git@github.com/o/r.git", github},
		{"git://github.com/o/r.git", github},
		{"https://github.example.org/o/r.git", "https://github.example.org/o/r/compare/main...x?expand=1"},
		{"http://gitlab.example.org:8080/g/r.git", strings.Replace(gitlab, "https://gitlab.com", "http://gitlab.example.org:8080", 1)},
		{"https://gitlab.com/g/r.git", gitlab},
		{"git@gitlab.com:g/r.git", gitlab},
		{"ssh://git@altssh.gitlab.com:443/g/r.git", gitlab},
		{"ssh://git@gitlab.example.org:2222/g/s/t/r.git", strings.Replace(gitlab, "gitlab.com/g/r", "gitlab.example.org/g/s/t/r", 1)},
		{"git@bitbucket.org:o/r.git", "https://bitbucket.org/o/r/pull-requests/new?dest=main&source=x"},
		{"https://user@bitbucket.org/o/r.git", "https://bitbucket.org/o/r/pull-requests/new?dest=main&source=x"},
		{"ssh://git@codeberg.org/o/r.git", codeberg},
		{"https://gitea.example.org/o/r", strings.Replace(codeberg, "codeberg.org", "gitea.example.org", 1)},
		{"https://forgejo.example.org/o/r", strings.Replace(codeberg, "codeberg.org", "forgejo.example.org", 1)},
		{"https://github.com/o/r%20s.git", "https://github.com/o/r%20s/compare/main...x?expand=1"},

		{"", ""},
		{"/srv/github.com/o/r.git", ""},
		{"./github.com:o/r.git", ""},
		{"../r.git", ""},
		{"file:///srv/git/o/r.git", ""},
		{`C:\git\o\r`, ""},
		{"ext::ssh github.com o/r", ""},
		{"https://example.org/o/r.git", ""},
		{"https://notgithub.com/o/r.git", ""},
		{"https://github.com.evil/o/r.git", "https://github.com.evil/o/r/compare/main...x?expand=1"},
		{"https://github.com/r.git", ""},
		{"https://github.com/a/b/c.git", ""},
		{"https://github.com/../r.git", ""},
		{"https://github.com/o/%2e%2e.git", ""},
		{"https://github.com/o/a%2fb.git", ""},
		{"https://github.com/o/%zz.git", ""},
		{"https://github.com/~o/r.git", ""},
		{"https://gitlab.com/r.git", ""},
		{"work:o/r.git", ""},
		{"https://git hub.com/o/r", ""},
		{"https://github.com:99999999/o/r", ""},
		{"https:///o/r", ""},
		{"user:s3cret@github.com:o/r.git", ""},
	}
	for _, test := range tests {
		if got := compareURL(test.address, "main", "x"); got != test.want {
			t.Errorf("%s: %q, want %q", test.address, got, test.want)
		}
	}
}

func TestCompareURLOfNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ host, base, branch, want string }{
		{"github.com", "", "x", "https://github.com/o/r/compare/x?expand=1"},
		{"github.com", "release/1", "threadtree/größe#1?&", "https://github.com/o/r/compare/release/1...threadtree/gr%C3%B6%C3%9Fe%231%3F&?expand=1"},
		{"gitlab.com", "", "a&b=c/d", "https://gitlab.com/o/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%26b%3Dc%2Fd"},
		{"bitbucket.org", "", "a b", "https://bitbucket.org/o/r/pull-requests/new?source=a+b"},
		{"codeberg.org", "", "x", "https://codeberg.org/o/r/compare/x"},
	} {
		if got := compareURL("https://"+test.host+"/o/r", test.base, test.branch); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func FuzzCompareURL(f *testing.F) {
	for _, seed := range []string{
		"https://user:pass@github.com/o/r.git", "git@gitlab.com:g/s/r.git", "ssh://a@b@bitbucket.org:22/o/r", "https://github.com/o/r?x=y#z",
		"codeberg.org:o/r", "https://gitea.x/%41/%2e", "a@b:c@github.com:o/r",
	} {
		f.Add(seed, "main", "x/y")
	}
	f.Fuzz(func(t *testing.T, address, base, branch string) {
		got := compareURL(address, base, branch)
		if got == "" {
			return
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q gives %q: %v", address, got, err)
		}
		if u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(got, " \n\r\t\"<>`\\") {
			t.Errorf("%q gives %q", address, got)
		}
		authority := address
		if _, rest, ok := strings.Cut(address, "://"); ok {
			authority, _, _ = strings.Cut(rest, "/")
		}
		if at := strings.LastIndexByte(authority, '@'); at >= 8 && strings.Contains(got, authority[:at]) {
			t.Errorf("%q gives %q, with who logs in", address, got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("fatal: unable to access 'https://", "user:pass", "host/x/': no")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 || strings.ContainsAny(secret, " \t\n\v\f\r/?#@") || strings.Contains(before+after, secret) {
			return
		}
		for _, text := range []string{before + " https://" + secret + "@h" + after, before + " ssh://u:" + secret + "@h" + after} {
			if got := redact(text); strings.Contains(got, secret) {
				t.Errorf("%q gives %q", text, got)
			}
		}
	})
}
