package sqlite_test

import (
	"testing"

	"github.com/threadtree/threadtree/store/storetest"
	"github.com/threadtree/threadtree/workspace"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) workspace.Store { return open(t, t.TempDir()+"/a b?%41#c.db") })
}
