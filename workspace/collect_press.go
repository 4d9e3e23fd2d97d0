package workspace

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// planning is a plan in the making.
type planning struct {
	m    *Manager
	o    CollectOptions
	now  time.Time
	plan []Collected
	// maxTrash and maxSize are the bounds, where there are any.
	maxTrash, maxSize int64
	// total is the disk use of the workspaces that stay; directories and
	// workspaces are what may go for size, and pressed the workspaces that do.
	total int64
	// bases are the branches that workspaces are built on.
	bases       map[string]bool
	directories []*keptDirectory
	workspaces  []candidate
	pressed     []Collected
}

// candidate is a workspace that may go for size.
type candidate struct {
	item  Collected
	since time.Time
}

// keptDirectory is one that may go for size, in part or as a whole.
type keptDirectory struct {
	item Collected
	t    Trashed
	// folders are those that can be made again, once they were looked for, and
	// thin is what they take.
	looked  bool
	folders []string
	thin    int64
	// thinned says why the folders go, whole why all of it goes, "" for not.
	thinned, whole string
}

// stays is what the directory will take.
func (d *keptDirectory) stays() int64 {
	switch {
	case d.whole != "":
		return 0
	case d.thinned != "":
		return max(d.item.Size-d.thin, 0)
	}
	return max(d.item.Size, 0)
}

// all is the whole plan: what has outlived its time or was asked for, and then
// what goes for size, folders first.
func (p *planning) all() []Collected {
	var folders, whole []Collected
	for _, d := range p.directories {
		item := d.item
		switch {
		case d.whole != "":
			item.Reason, item.Lost = d.whole, d.t.Kept.Missing
			whole = append(whole, item)
		case d.thinned != "":
			item.Kind, item.Reason, item.Folders, item.Size = CollectFolders, d.thinned, d.folders, d.thin
			folders = append(folders, item)
		}
	}
	return slices.Concat(p.plan, folders, whole, p.pressed)
}

// pressTrash plans what has to go until the kept directories are within their
// own size.
func (p *planning) pressTrash(ctx context.Context) error {
	return p.thin(ctx, p.maxTrash, p.trash, "the kept directories take")
}

// trash is what the kept directories take that stay.
func (p *planning) trash() int64 {
	var total int64
	for _, d := range p.directories {
		total += d.stays()
	}
	return total
}

// press plans what has to go until all that stays is within the size.
func (p *planning) press(ctx context.Context) error {
	all := func() int64 { return p.total + p.trash() }
	const what = "the project takes"
	if err := p.thin(ctx, p.maxSize, all, what); err != nil {
		return err
	}
	slices.SortStableFunc(p.workspaces, func(a, b candidate) int { return a.since.Compare(b.since) })
	for _, c := range p.workspaces {
		if all() <= p.maxSize {
			return nil
		}
		c.item.Reason = tooLarge(what, all(), p.maxSize)
		p.total -= max(c.item.Size, 0)
		p.pressed = append(p.pressed, c.item)
	}
	return nil
}

// thin plans folders of kept directories, and then whole ones, oldest first,
// until what total returns is within a size.
func (p *planning) thin(ctx context.Context, most int64, total func() int64, what string) error {
	slices.SortStableFunc(p.directories, func(a, b *keptDirectory) int { return a.t.DeletedAt.Compare(b.t.DeletedAt) })
	for _, d := range p.directories {
		now := total()
		if now <= most {
			return nil
		}
		if d.thinned != "" || d.whole != "" {
			continue
		}
		if err := p.look(ctx, d); err != nil {
			return err
		}
		if d.thin > 0 {
			d.thinned = fmt.Sprintf("%s can be made again, and %s", joinShort(d.folders, 3), tooLarge(what, now, most))
		}
	}
	for _, d := range p.directories {
		now := total()
		if now <= most {
			return nil
		}
		if d.whole == "" {
			d.whole = tooLarge(what, now, most)
		}
	}
	return nil
}

// look finds the folders that can be made again. Where they can't be looked at
// there are none.
func (p *planning) look(ctx context.Context, d *keptDirectory) error {
	if d.looked {
		return nil
	}
	d.looked = true
	restorer, err := p.m.restorerOf(d.t.Workspace)
	thinner, ok := restorer.(Thinner)
	if err != nil || !ok {
		return nil //nolint:nilerr // then the whole directory goes
	}
	project, err := p.m.projectOf(ctx, d.t.Workspace)
	if err != nil {
		return ctx.Err()
	}
	if d.folders, d.thin, err = thinner.Regenerable(ctx, project, d.t); err != nil {
		d.folders, d.thin = nil, 0
	}
	return ctx.Err()
}

func tooLarge(what string, size, most int64) string {
	return fmt.Sprintf("%s %s, more than the %s allowed", what, FormatSize(size), FormatSize(most))
}

// FormatSize shows a number of bytes to people, in steps of 1024, "-" for one
// that isn't known.
func FormatSize(bytes int64) string {
	const unit = 1024
	switch {
	case bytes < 0:
		return "-"
	case bytes < unit:
		return fmt.Sprintf("%d B", bytes)
	}
	value, prefix := float64(bytes)/unit, 0
	for value >= unit && prefix < len("kMGTP")-1 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[prefix])
}
