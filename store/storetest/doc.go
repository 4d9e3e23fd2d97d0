// Package storetest is the contract of a [workspace.Store] as tests. A store
// of your own passes it like this:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) workspace.Store {
//			return mystore.New(t.TempDir())
//		})
//	}
//
// Run it under the race detector: part of the contract is that everything may
// be called concurrently.
package storetest
