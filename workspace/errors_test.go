package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestErrorIsItsCode(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("somewhere: %w", &workspace.Error{Code: workspace.ErrNotFound, Op: "get", Message: "thread 1 has no workspace", Err: workspace.ErrDeleted})
	if !errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrLocked) || !errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("%v is not what it says", err)
	}
	if got, want := err.Error(), "somewhere: get: thread 1 has no workspace"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want workspace.Code
	}{
		{nil, ""},
		{&workspace.Error{Code: workspace.ErrUnmerged}, workspace.ErrUnmerged},
		{fmt.Errorf("x: %w", workspace.ErrLocked), workspace.ErrLocked},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), workspace.ErrTimeout},
		{context.Canceled, workspace.ErrTimeout},
		{&fs.PathError{Op: "open", Path: "p", Err: fs.ErrPermission}, workspace.ErrPermissionDenied},
		{errors.New("what"), workspace.ErrInternal},
	} {
		if got := workspace.CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

func TestHintOf(t *testing.T) {
	t.Parallel()
	inner := &workspace.Error{Code: workspace.ErrLocked, Hint: "wait"}
	if got := workspace.HintOf(&workspace.Error{Code: workspace.ErrLocked, Err: fmt.Errorf("x: %w", inner)}); got != "wait" {
		t.Errorf("got %q", got)
	}
	if got := workspace.HintOf(errors.New("x")); got != "" {
		t.Errorf("got %q", got)
	}
}
