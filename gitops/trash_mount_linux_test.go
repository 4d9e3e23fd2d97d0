package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// mount mounts one directory on another, for root where that is allowed.
func mount(t *testing.T, from, to string) {
	t.Helper()
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(to, unix.MNT_DETACH) })
}

func TestTrashOfAMountPoint(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.write(b.at(".env"), "SECRET=1\n")
	mount(t, b.w.Directory, b.w.Directory)
	disk := withoutObjects(b.snapshot())
	_, err := b.try(false)
	e := wantCode(t, err, workspace.ErrLocked)
	for _, words := range []string{"mount point", ".env", "nothing was removed"} {
		if !strings.Contains(e.Message, words) {
			t.Errorf("%q lacks %q", e.Message, words)
		}
	}
	if after := withoutObjects(b.snapshot()); !slices.Equal(disk, after) {
		t.Errorf("the refused removal changed the disk:\n%s", difference(disk, after))
	}
	b.mess()
	b.embed()
	before := b.shapeOf(b.w.Directory, false)
	removed, err := b.try(true)
	if err != nil {
		t.Fatal(detail(err))
	}
	if removed.Kept.Directory != "" || !hasLine(removed.Left, "mount point") || !hasLine(removed.Left, "lost", ".env") || !hasLine(removed.Left, "lost", "embedded/") {
		t.Errorf("%+v", removed)
	}
	if left, _ := os.ReadDir(b.w.Directory); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := unix.Unmount(b.w.Directory, 0); err != nil {
		t.Fatal(err)
	}
	restored := b.restore(b.trashed(removed))
	for _, line := range []string{"? embedded/", "? bare-of-commits/"} {
		before.status = strings.Replace(before.status, line+"\n", "", 1)
	}
	sameShape(t, before, b.shapeOf(restored.Directory, false))
}

func TestTrashNeverCrossesAMount(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	precious := filepath.Join(b.root, "precious")
	b.write(filepath.Join(precious, "file"), "precious\n")
	b.write(b.at("node_modules/x"), "")
	mount(t, precious, b.at("node_modules"))
	b.refuses(b.w, workspace.ErrLocked, "mounted", "node_modules")
	if err := unix.Unmount(b.at("node_modules"), 0); err != nil {
		t.Fatal(err)
	}
	trashed := b.delete(true)
	inTrash := filepath.Join(trashed.Kept.Directory, "node_modules")
	mount(t, precious, inTrash)
	for _, all := range []bool{false, true} {
		wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, all), workspace.ErrLocked)
	}
	if !exists(filepath.Join(precious, "file")) {
		t.Fatal("what was mounted is gone")
	}
	_ = unix.Unmount(inTrash, 0)
	b.discard(trashed, true)
}
