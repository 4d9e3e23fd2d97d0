package gitops

import "sync"

// maxMemo bounds what is remembered; past it a memo begins anew.
const maxMemo = 4096

// memo remembers answers that can't change. It is bounded and safe for
// concurrent use. The zero value is ready for use.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	known map[K]V
}

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	return v, ok
}

func (m *memo[K, V]) put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMemo {
		m.known = make(map[K]V)
	}
	m.known[key] = v
}
