package gitops

import (
	"testing"

	"github.com/threadtree/threadtree/workspace/providertest"
)

func TestProviderContract(t *testing.T) {
	t.Parallel()
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		l := newLab(t)
		return providertest.Subject{Provider: l.provider(), Project: l.project()}
	})
}
