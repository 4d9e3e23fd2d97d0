package main

import "github.com/threadtree/threadtree/workspace"

type branchesJSON struct {
	Branches []string `json:"branches"`
}

type fileJSON struct {
	Path string `json:"path"`
	// From is absent unless it was renamed.
	From string `json:"from,omitempty"`
	// Added and Deleted are -1 for a binary file.
	Added   int `json:"added"`
	Deleted int `json:"deleted"`
}

type diffJSON struct {
	Base       string     `json:"base"`
	BaseCommit string     `json:"base_commit"`
	Files      []fileJSON `json:"files"`
	// Patch and Truncated are absent unless the patch was asked for.
	Patch     *string `json:"patch,omitempty"`
	Truncated *bool   `json:"truncated,omitempty"`
}

func diffOf(d workspace.Diff, patch bool) diffJSON {
	j := diffJSON{Base: d.Base, BaseCommit: d.BaseCommit, Files: []fileJSON{}}
	for _, f := range d.Files {
		j.Files = append(j.Files, fileJSON{Path: f.Path, From: f.From, Added: f.Added, Deleted: f.Deleted})
	}
	if patch {
		j.Patch, j.Truncated = &d.Patch, &d.Truncated
	}
	return j
}

type overlapJSON struct {
	Threads  []string `json:"threads"`
	Files    []string `json:"files"`
	Conflict bool     `json:"conflict"`
}

type overlapsJSON struct {
	Overlaps []overlapJSON `json:"overlaps"`
}

func overlapsOf(found []workspace.Overlap) overlapsJSON {
	j := overlapsJSON{Overlaps: []overlapJSON{}}
	for _, o := range found {
		j.Overlaps = append(j.Overlaps, overlapJSON{Threads: o.Threads, Files: o.Files, Conflict: o.Conflict})
	}
	return j
}

type pushedJSON struct {
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	// URL is "" for a host that isn't known.
	URL string `json:"url"`
	// UpToDate is absent where the remote got something new.
	UpToDate bool `json:"up_to_date,omitempty"`
	// Warnings is absent where there are none.
	Warnings []string `json:"warnings,omitempty"`
}
