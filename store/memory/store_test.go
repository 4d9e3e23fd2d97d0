package memory_test

import (
	"testing"

	"github.com/threadtree/threadtree/store/memory"
	"github.com/threadtree/threadtree/store/storetest"
	"github.com/threadtree/threadtree/workspace"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) workspace.Store { return memory.New() })
}
