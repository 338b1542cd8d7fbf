package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/engine/promptcache"
	"mla/runtime/plan"
)

// hostPages is a runner with pages of a real model's size, in the host's memory.
type hostPages struct {
	*fake.Runner
	caches device.Caches
	bytes  int
}

func (r *hostPages) PageBytes() int { return r.bytes }

func (r *hostPages) ReadPage(page uint32, dst []byte) error {
	r.caches.Read(page, dst)
	return nil
}

func (r *hostPages) WritePage(page uint32, src []byte) error {
	r.caches.Write(page, src)
	return nil
}

// BenchmarkRestore measures restoring 32,768 tokens of GLM-4.7-Flash with an f16 cache, 1.77 GB, from a file
// in the disk cache to memory that has not been touched before.
func BenchmarkRestore(b *testing.B) {
	const layers, row, tokens = 47, 576 * 2, 32768
	key := promptcache.Key{Layers: layers, Planes: plan.Planes{row}}
	path := filepath.Join(b.TempDir(), "cache")
	text := make([]int32, tokens+1)
	for i := range text {
		text[i] = int32(i) % fakeVocab
	}
	err := promptcache.Write(context.Background(), path, key, text[:tokens], nil, func(int, []byte) error { return nil })
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(layers * row * tokens)
	for b.Loop() {
		b.StopTimer()
		cfg := device.Config{Context: tokens + 1}
		r := &hostPages{fake.New(fakeVocab, cfg), device.Caches{Pages: plan.Pages(tokens + 1), Planes: key.Planes}, key.PageBytes()}
		for range layers {
			r.caches.Layers = append(r.caches.Layers, make([]byte, r.caches.Pages*plan.PageRows*row))
		}
		m, err := NewModel(r, fakeVocab, cfg)
		if err != nil {
			b.Fatal(err)
		}
		s, err := m.NewSession()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		f, err := promptcache.Open(path, key)
		if err != nil {
			b.Fatal(err)
		}
		n, err := s.Restore(context.Background(), f, text)
		if err := errors.Join(err, f.Close()); err != nil || n != tokens {
			b.Fatal(fmt.Errorf("%d tokens, %w", n, err))
		}
	}
}
