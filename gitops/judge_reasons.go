package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// objection is a reason against a removal which force overrides.
type objection struct {
	rank int
	err  *workspace.Error
}

// The ranks of objections: that of the first gives a refusal its code.
const (
	rankDirty = iota
	rankUnmerged
	rankLocked
	rankOperation
	rankProcess
)

const nothingRemoved = "; nothing was removed"

// refuse is the error for what nobody may remove.
func (j *judge) refuse(code workspace.Code, hint, format string, args ...any) error {
	return &workspace.Error{
		Code: code, Op: "remove", ThreadID: j.w.ThreadID, Hint: hint,
		Message: fmt.Sprintf(format, args...) + nothingRemoved,
	}
}

// object notes a reason against the removal. It returns the error, to which
// more may be added.
func (j *judge) object(rank int, code workspace.Code, hint, format string, args ...any) *workspace.Error {
	e := &workspace.Error{Code: code, Op: "remove", ThreadID: j.w.ThreadID, Hint: hint, Message: fmt.Sprintf(format, args...)}
	if !j.force {
		j.against = append(j.against, objection{rank, e})
	}
	return e
}

// conclude is nil if nothing is against the removal, and else all of it in one.
func (j *judge) conclude(ctx context.Context) error {
	if len(j.against) == 0 {
		return nil
	}
	slices.SortStableFunc(j.against, func(a, b objection) int { return a.rank - b.rank })
	all := *j.against[0].err
	messages, causes := make([]string, len(j.against)), make([]error, len(j.against))
	for i, o := range j.against {
		messages[i], causes[i] = o.err.Message, o.err
	}
	all.Message = strings.Join(messages, "; ") + nothingRemoved
	all.Hint += "; or force the delete: what is there is kept, and can be restored"
	if lacks := j.lacks(ctx); len(lacks) > 0 {
		all.Hint += "; but only as long as its directory is kept whole: " + strings.Join(lacks, ", ")
	}
	all.Option, all.Err = workspace.OptionForce, errors.Join(causes...)
	return &all
}

// lacks has a line for each thing that a snapshot would lack.
func (j *judge) lacks(ctx context.Context) []string {
	s := j.r.newSnapshotter(j.project, j.v, nil)
	if s.dir != "" && s.admin != "" {
		s.collect(ctx, j.v.look)
	}
	return s.lacks
}
