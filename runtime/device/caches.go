package device

import "mla/runtime/plan"

// Caches is the latent caches of all layers in memory that the host can address: [pages][plan.PageRows] rows
// each. Its methods do not check page numbers or counts of rows; Tables does.
type Caches struct {
	Layers [][]byte
	Pages  int
	Planes plan.Planes // the layout of a page
}

// CopyRows copies the first n rows of a page to another page.
func (c Caches) CopyRows(from, to uint32, n int) {
	for _, layer := range c.Layers {
		for at, bytes := range c.Planes.Rows(0, n) {
			copy(c.page(layer, to)[at:at+bytes], c.page(layer, from)[at:])
		}
	}
}

// Read copies a page to dst, layer by layer.
func (c Caches) Read(page uint32, dst []byte) {
	for _, layer := range c.Layers {
		dst = dst[copy(dst, c.page(layer, page)):]
	}
}

// Write copies src to a page, layer by layer.
func (c Caches) Write(page uint32, src []byte) {
	for _, layer := range c.Layers {
		src = src[copy(c.page(layer, page), src):]
	}
}

// Empty says whether a page holds only zeros, like memory that was never written.
func (c Caches) Empty(page uint32) bool {
	for _, layer := range c.Layers {
		for _, b := range c.page(layer, page) {
			if b != 0 {
				return false
			}
		}
	}
	return true
}

func (c Caches) page(layer []byte, i uint32) []byte {
	n := len(layer) / c.Pages
	return layer[int(i)*n:][:n]
}
