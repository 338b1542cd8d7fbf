package server

import (
	"slices"
	"sync"
)

// items remembers the items of responses, so that a client can refer to an item, or to a response with
// everything before it, by its id. Each scope has its own store.
type items struct {
	mu     sync.Mutex
	stores map[string]*store
	scopes []string // least recently used first
}

// Limits on remembered responses.
const (
	maxStores     = 32
	maxStoreBytes = 16 << 20
)

// store is the memory of one scope: lists of items by the id of an item or of a response.
type store struct {
	kept map[string][]raw
	ids  []string // oldest first
	size int      // bytes
}

func newItems() *items { return &items{stores: map[string]*store{}} }

// of returns the store of a scope. The caller holds the mutex.
func (m *items) of(scope string) *store {
	if i := slices.Index(m.scopes, scope); i >= 0 {
		m.scopes = append(slices.Delete(m.scopes, i, i+1), scope)
		return m.stores[scope]
	}
	if len(m.scopes) == maxStores {
		delete(m.stores, m.scopes[0])
		m.scopes = slices.Delete(m.scopes, 0, 1)
	}
	m.scopes = append(m.scopes, scope)
	m.stores[scope] = &store{kept: map[string][]raw{}}
	return m.stores[scope]
}

// find returns the items of an id.
func (m *items) find(scope, id string) ([]raw, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, ok := m.of(scope).kept[id]
	return list, ok
}

// keep remembers items by an id, and drops the oldest ones if necessary.
func (m *items) keep(scope, id string, list []raw) {
	size := len(id)
	for _, item := range list {
		size += len(item)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(scope)
	if _, ok := s.kept[id]; ok || size > maxStoreBytes {
		return
	}
	s.kept[id] = list
	s.ids = append(s.ids, id)
	s.size += size
	for s.size > maxStoreBytes {
		for _, item := range s.kept[s.ids[0]] {
			s.size -= len(item)
		}
		s.size -= len(s.ids[0])
		delete(s.kept, s.ids[0])
		s.ids = slices.Delete(s.ids, 0, 1)
	}
}
