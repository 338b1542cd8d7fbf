package server

import (
	"slices"
	"sync"
)

// items has what responses consisted of, so that a client can name an item, or a response
// with all that came before it, in the place of sending it again. Each API key has its own.
type items struct {
	mu     sync.Mutex
	stores map[string]*store
	keys   []string // that used longest ago first
}

// Limits on what is remembered of responses.
const (
	maxStores     = 32
	maxStoreBytes = 16 << 20
)

// store is what is remembered for one API key: items by the id of an item, or of a response.
type store struct {
	kept map[string][]raw
	ids  []string // the oldest first
	size int      // bytes
}

func newItems() *items { return &items{stores: map[string]*store{}} }

// of is the store of a key. The mutex is held.
func (m *items) of(key string) *store {
	if i := slices.Index(m.keys, key); i >= 0 {
		m.keys = append(slices.Delete(m.keys, i, i+1), key)
		return m.stores[key]
	}
	if len(m.keys) == maxStores {
		delete(m.stores, m.keys[0])
		m.keys = slices.Delete(m.keys, 0, 1)
	}
	m.keys = append(m.keys, key)
	m.stores[key] = &store{kept: map[string][]raw{}}
	return m.stores[key]
}

// find is what is remembered by an id.
func (m *items) find(key, id string) ([]raw, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, ok := m.of(key).kept[id]
	return list, ok
}

// keep remembers items by an id, in the place of the oldest ones.
func (m *items) keep(key, id string, list []raw) {
	size := len(id)
	for _, item := range list {
		size += len(item)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(key)
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
