package metal

import (
	"testing"
	"unsafe"

	"mla/runtime/device"
	"mla/runtime/plan"
	"mla/runtime/quant"
)

// region returns size bytes that start shift bytes past a page.
func region(size, shift int) []byte {
	b := make([]byte, size+2*pageSize)
	at := (pageSize - int(uintptr(unsafe.Pointer(&b[0]))%pageSize)) % pageSize
	return b[at+shift : at+shift+size : at+shift+size]
}

// tensors returns a model of q8_0 tensors, each with an offset and a size.
func tensors(mapped int, regions [][]byte, extents ...[3]int64) *device.Model {
	m := &device.Model{Bundle: &plan.Bundle{}, Regions: regions, Mapped: mapped}
	for _, e := range extents {
		m.Weights = append(m.Weights, []device.Weight{{Tensor: "t", Type: quant.Q8_0, Region: int(e[0]), Offset: e[1], Bytes: e[2]}})
	}
	return m
}

func TestPages(t *testing.T) {
	const p = pageSize
	for n, want := range map[int64]int64{0: 0, 1: p, p - 1: p, p: p, p + 1: 2 * p, 1<<32 + 1: 1<<32 + p} {
		if got := pages(n); got != want {
			t.Errorf("%d bytes in whole pages: %d; expected %d", n, got, want)
		}
	}
}

func TestPlaceWeights(t *testing.T) {
	const p = pageSize
	r := region(20*p, 0)
	tests := []struct {
		name    string
		model   *device.Model
		windows []window
		places  []place
	}{
		{"one window", tensors(1, [][]byte{r}, [3]int64{0, 32, 100}, [3]int64{0, 144, 2 * p}),
			[]window{{0, 0, 3 * p}}, []place{{0, 32}, {0, 144}}},
		{"starts at a page", tensors(1, [][]byte{r}, [3]int64{0, 5*p + 16, 10}),
			[]window{{0, 5 * p, p}}, []place{{0, 16}}},
		{"cut between tensors, overlapping by a page", tensors(1, [][]byte{r}, [3]int64{0, 0, 3*p + 16}, [3]int64{0, 3*p + 16, p}),
			[]window{{0, 0, 4 * p}, {0, 3 * p, 2 * p}}, []place{{0, 0}, {1, 16}}},
		{"in any order", tensors(1, [][]byte{r}, [3]int64{0, 3*p + 16, p}, [3]int64{0, 0, 3*p + 16}),
			[]window{{0, 0, 4 * p}, {0, 3 * p, 2 * p}}, []place{{1, 16}, {0, 0}}},
		{"a whole window", tensors(1, [][]byte{r}, [3]int64{0, 0, p}, [3]int64{0, p, 3 * p}),
			[]window{{0, 0, 4 * p}}, []place{{0, 0}, {0, p}}},
		{"one tensor inside another", tensors(1, [][]byte{r}, [3]int64{0, 0, 2 * p}, [3]int64{0, 32, 18}),
			[]window{{0, 0, 2 * p}}, []place{{0, 0}, {0, 32}}},
		{"two files", tensors(2, [][]byte{r, r}, [3]int64{0, 0, 64}, [3]int64{1, 0, 64}),
			[]window{{0, 0, p}, {1, 0, p}}, []place{{0, 0}, {1, 0}}},
		{"a copy", tensors(1, [][]byte{r, r}, [3]int64{0, 0, 64}, [3]int64{1, 64, 64}),
			[]window{{0, 0, p}}, []place{{0, 0}, {1, 0}}},
		{"odd offset", tensors(1, [][]byte{r}, [3]int64{0, 0, 65}, [3]int64{0, 65, 64}, [3]int64{0, 136, 8}),
			[]window{{0, 0, p}}, []place{{0, 0}, {1, 0}, {2, 0}}},
		{"no region", tensors(1, [][]byte{nil}, [3]int64{0, 0, 0}),
			nil, []place{{0, 0}}},
		{"not at a page", tensors(1, [][]byte{region(p, 64)}, [3]int64{0, 0, 64}),
			nil, []place{{0, 0}}},
	}
	for _, tt := range tests {
		w, err := placeWeights(tt.model, 4*p+p-1)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if len(w.windows) != len(tt.windows) {
			t.Errorf("%s: windows %v; expected %v", tt.name, w.windows, tt.windows)
			continue
		}
		for i, have := range w.windows {
			if have != tt.windows[i] {
				t.Errorf("%s: window %d is %v; expected %v", tt.name, i, have, tt.windows[i])
			}
		}
		for i, want := range tt.places {
			if have := w.places[&tt.model.Weights[i][0]]; have != want {
				t.Errorf("%s: tensor %d is at %v; expected %v", tt.name, i, have, want)
			}
		}
	}
	if _, err := placeWeights(tensors(1, [][]byte{r}, [3]int64{0, 64, 4 * p}), 4*p); err == nil {
		t.Error("a tensor that may not fit a buffer: no error")
	}
}
