package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// DefaultPrefix is what the branches of typed and derived names begin with.
const DefaultPrefix = "threadtree/"

// Limits of names, in bytes.
const (
	// MaxTitleSlug is how long a slug that was derived from a title may be.
	MaxTitleSlug = 60
	// MaxTypedSlug is how long a slug that a person typed may be.
	MaxTypedSlug = 200
	// maxRefComponent leaves room for the ".lock" that git adds to a file
	// name of 255 bytes.
	maxRefComponent = 250
	// maxRef is as long as git and file systems take a whole ref name for sure.
	maxRef = 1000
	// maxThreadID bounds a thread id, an opaque string of the chat system.
	maxThreadID = 200
)

// NameKind says where a name comes from, and so what may be done with it.
type NameKind int

// The kinds of names.
const (
	// NameTitle is derived from a title: it never joins an existing branch,
	// but gets a suffix.
	NameTitle NameKind = iota
	// NameTyped was typed by a person: it attaches an existing branch of
	// exactly that name.
	NameTyped
	// NameBranch is a branch's literal name.
	NameBranch
)

// Name says how a workspace is named.
type Name struct {
	Kind NameKind
	// Slug is the name for people and for the directory. It is not empty and
	// may be used as a file name.
	Slug string
	// Branch is the short name of the branch.
	Branch string
}

// Suffixed returns the n-th variant of a derived name: n itself for 1 and
// below, else slug and branch with "-n" at the end, within the limits.
func (n Name) Suffixed(i int) Name {
	if i <= 1 {
		return n
	}
	suffix := fmt.Sprintf("-%d", i)
	prefix := strings.TrimSuffix(n.Branch, n.Slug)
	slug := n.Slug
	if room := MaxTypedSlug - len(suffix); len(slug) > room {
		slug = cut(slug, room)
	}
	n.Slug = slug + suffix
	if n.Kind != NameBranch {
		n.Branch = prefix + n.Slug
	}
	return n
}

// NameFromTitle derives a name from a thread's title. A title that leaves
// nothing, such as one of emoji alone, gives "thread-" and a short id made
// from the thread's.
func NameFromTitle(prefix, title, threadID string) Name {
	slug := shorten(Slug(strings.TrimPrefix(norm.NFC.String(title), prefix)), MaxTitleSlug)
	if slug == "" {
		sum := sha256.Sum256([]byte(threadID))
		slug = "thread-" + hex.EncodeToString(sum[:4])
	}
	return Name{Kind: NameTitle, Slug: slug, Branch: prefix + slug}
}

// NameFromTyped makes a name from what a person typed. The prefix is not
// doubled where it was typed too. The error has the code invalid_name.
func NameFromTyped(prefix, typed string) (Name, error) {
	if !utf8.ValidString(typed) {
		return Name{}, &Error{Code: ErrInvalidName, Message: "the name isn't valid UTF-8", Hint: "type another name"}
	}
	slug := Slug(strings.TrimPrefix(norm.NFC.String(strings.TrimSpace(typed)), prefix))
	switch {
	case slug == "":
		return Name{}, &Error{
			Code:    ErrInvalidName,
			Message: fmt.Sprintf("the name %s has no letter or digit in it", quote(typed)),
			Hint:    "use a few letters or digits, for example fix-login",
		}
	case len(slug) > MaxTypedSlug:
		return Name{}, &Error{
			Code:    ErrInvalidName,
			Message: fmt.Sprintf("the name %s is %d bytes long, more than the %d allowed", quote(typed), len(slug), MaxTypedSlug),
			Hint:    "use a shorter name",
		}
	}
	return Name{Kind: NameTyped, Slug: slug, Branch: prefix + slug}, nil
}

// NameFromBranch takes a branch's literal name. The error has the code
// invalid_name.
func NameFromBranch(branch string) (Name, error) {
	why := refFault(branch)
	switch {
	case why != "":
	case strings.HasPrefix(branch, "refs/"), strings.HasPrefix(branch, "heads/"):
		why = "a branch is named without refs/heads/ here"
	case isObjectID(branch):
		why = "git would take it for the id of a commit"
	}
	if why != "" {
		return Name{}, &Error{
			Code:    ErrInvalidName,
			Message: fmt.Sprintf("%s is no valid branch name: %s", quote(branch), why),
			Hint:    "give a branch name that git accepts, for example feature/login",
		}
	}
	slug := shorten(Slug(branch), MaxTitleSlug)
	if slug == "" {
		sum := sha256.Sum256([]byte(branch))
		slug = "branch-" + hex.EncodeToString(sum[:4])
	}
	return Name{Kind: NameBranch, Slug: slug, Branch: branch}, nil
}

// isObjectID reports whether git takes a name for a whole object id, whatever
// refs there are.
func isObjectID(name string) bool {
	hex := strings.Trim(name, "0123456789abcdefABCDEF") == ""
	return hex && (len(name) == 40 || len(name) == 64)
}

// CheckRef says whether ref may be handed to git as the name of a base or a
// target: a branch, a remote branch, a tag, a commit or HEAD, but no
// expression. The error has the code invalid_ref.
func CheckRef(ref string) error {
	if ref == "HEAD" {
		return nil
	}
	if why := refFault(ref); why != "" {
		return &Error{
			Code:    ErrInvalidRef,
			Message: fmt.Sprintf("%s is no valid branch, tag or commit: %s", quote(ref), why),
			Hint:    "give the name of a branch or a tag, or a commit's id",
		}
	}
	return nil
}

// CheckThreadID says whether id can be a thread's id. The error has the code
// invalid_name.
func CheckThreadID(id string) error {
	why := ""
	switch {
	case id == "":
		why = "it is empty"
	case len(id) > maxThreadID:
		why = fmt.Sprintf("it is %d bytes long, more than the %d allowed", len(id), maxThreadID)
	case !utf8.ValidString(id):
		why = "it isn't valid UTF-8"
	case strings.IndexFunc(id, unicode.IsControl) >= 0:
		why = "it contains a control character"
	}
	if why == "" {
		return nil
	}
	return &Error{
		Code:    ErrInvalidName,
		Message: fmt.Sprintf("the thread id %s can't be used: %s", quote(id), why),
		Hint:    "give the chat system's id of the thread",
	}
}

// refFault says what git's own rule for branch names has against name, "" if
// nothing. It is at least as strict as "git check-ref-format --branch".
func refFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxRef:
		return fmt.Sprintf("it is %d bytes long", len(name))
	case !utf8.ValidString(name):
		return "it isn't valid UTF-8"
	case name[0] == '-':
		return "it begins with a dash"
	case name == "HEAD" || name == "@":
		return "the name is reserved"
	case strings.Contains(name, ".."):
		return `it contains ".."`
	case strings.Contains(name, "@{"):
		return `it contains "@{"`
	case strings.HasSuffix(name, "."):
		return "it ends with a dot"
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return "it contains a control character"
		}
		if strings.ContainsRune(" ~^:?*[\\", r) {
			return fmt.Sprintf("it contains %q", r)
		}
	}
	for component := range strings.SplitSeq(name, "/") {
		switch {
		case component == "":
			return "it has an empty part"
		case component[0] == '.':
			return "a part of it begins with a dot"
		case strings.HasSuffix(component, ".lock"):
			return `a part of it ends with ".lock"`
		case len(component) > maxRefComponent:
			return fmt.Sprintf("a part of it is %d bytes long", len(component))
		}
	}
	return ""
}

// Slug keeps the letters and digits of every script, in lower case and
// Unicode NFC, and turns each run of anything else into one dash. It may
// return "".
func Slug(text string) string {
	text = norm.NFC.String(cases.Lower(language.Und).String(norm.NFC.String(strings.ToValidUTF8(text, " "))))
	var b strings.Builder
	dash := false
	for _, r := range text {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r):
		case unicode.IsMark(r) && b.Len() > 0 && !dash:
			// A mark belongs to the letter before it: without the marks a
			// word of many scripts is another word.
		default:
			dash = true
			continue
		}
		if dash && b.Len() > 0 {
			b.WriteByte('-')
		}
		dash = false
		b.WriteRune(r)
	}
	return b.String()
}

// Fold returns the form in which two names are the same file on a disk that
// knows no case and no Unicode form.
func Fold(name string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}

// shorten cuts a slug to limit bytes, at the end of a word where one ends in
// the last third.
func shorten(slug string, limit int) string {
	if len(slug) <= limit {
		return slug
	}
	short := cut(slug, limit)
	if slug[len(short)] != '-' {
		if i := strings.LastIndexByte(short, '-'); i >= limit*2/3 {
			short = short[:i]
		}
	}
	return strings.TrimRight(short, "-")
}

// cut returns the longest beginning of s that is at most limit bytes long and
// ends at a whole character, marks included.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 {
		r, _ := utf8.DecodeRuneInString(s[end:])
		if utf8.RuneStart(s[end]) && !unicode.IsMark(r) {
			break
		}
		end--
	}
	if end == 0 { // a single character longer than the limit
		end = limit
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
	}
	if end == 0 { // no character begins at all
		end = limit
	}
	return s[:end]
}

// quote shows what somebody typed, cut to a readable length.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(cut(s, most), "\uFFFD"))
	}
	return fmt.Sprintf("%q", s)
}
