package gitops

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// refStorer is go-git's storage with two things mended: extensions that don't
// change how refs and objects are read are hidden from its check, which knows
// none of them, and a ref costs one look at its file: the packed refs are read
// once and not again for each ref.
type refStorer struct {
	*filesystem.Storage
	common string

	mu     sync.Mutex
	packed map[string]*plumbing.Reference
	seen   os.FileInfo
}

// harmless are the extensions that leave refs and objects as they are.
var harmless = []string{"worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees"}

func newRefStorer(common string) *refStorer {
	store := filesystem.NewStorageWithOptions(osfs.New(common), cache.NewObjectLRU(4*cache.MiByte),
		filesystem.Options{AlternatesFS: osfs.New("/")})
	return &refStorer{Storage: store, common: common}
}

// Config returns the configuration without the harmless extensions.
func (s *refStorer) Config() (*config.Config, error) {
	c, err := s.Storage.Config()
	if err != nil {
		return nil, err
	}
	if c.Raw.HasSection("extensions") {
		section := c.Raw.Section("extensions")
		for _, name := range harmless {
			section.RemoveOption(name)
		}
	}
	return c, nil
}

// Reference returns a ref: the loose one, or else the packed one.
func (s *refStorer) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	if !filepath.IsLocal(name.String()) {
		return nil, plumbing.ErrReferenceNotFound
	}
	// A ref may be packed between the two looks, but not unpacked.
	content, err := os.ReadFile(filepath.Join(s.common, filepath.FromSlash(name.String())))
	switch ref := parseHead(content); {
	case err == nil && ref.sha != "":
		return plumbing.NewHashReference(name, plumbing.NewHash(ref.sha)), nil
	case err == nil && ref.ref != "":
		return plumbing.NewSymbolicReference(name, plumbing.ReferenceName(ref.ref)), nil
	case err == nil || !isAbsent(err) && !errors.Is(err, syscall.EISDIR):
		return s.Storage.Reference(name)
	}
	packed, err := s.packedRefs()
	if err != nil {
		return nil, err
	}
	if ref := packed[name.String()]; ref != nil {
		return ref, nil
	}
	return nil, plumbing.ErrReferenceNotFound
}

// packedRefs reads the packed refs where they have changed since.
func (s *refStorer) packedRefs() (map[string]*plumbing.Reference, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := filepath.Join(s.common, "packed-refs")
	info, err := os.Stat(path)
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	if s.packed != nil && sameFile(info, s.seen) {
		return s.packed, nil
	}
	refs := make(map[string]*plumbing.Reference)
	if info != nil {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if sha, name, ok := strings.Cut(lines.Text(), " "); ok && isObjectID(sha) {
				refs[name] = plumbing.NewHashReference(plumbing.ReferenceName(name), plumbing.NewHash(sha))
			}
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	s.packed, s.seen = refs, info
	return refs, nil
}

// branchNames returns the short names of the branches, sorted.
func (s *refStorer) branchNames() ([]string, error) {
	names, err := s.refNames(localRefs)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, localRefs)
	}
	return names, err
}

// refNames returns the full names of the refs below roots such as refs/heads/,
// sorted.
func (s *refStorer) refNames(roots ...string) ([]string, error) {
	set := make(map[string]bool)
	for _, root := range roots {
		// The loose ones first: one that is packed in between is then seen
		// twice and not missed.
		if err := walkRefs(s.common, root, set); err != nil {
			return nil, unreadable(s.common, err)
		}
	}
	packed, err := s.packedRefs()
	if err != nil {
		return nil, unreadable(s.common, err)
	}
	for name := range packed {
		if slices.ContainsFunc(roots, func(root string) bool { return strings.HasPrefix(name, root) }) {
			set[name] = true
		}
	}
	return slices.Sorted(maps.Keys(set)), nil
}
