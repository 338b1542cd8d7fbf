package msl

import "mla/runtime/plan"

// matrixAttention is the shape of the matrix form of attention, which serves caches
// of halves; see templates/msl/attend_matrix.msl.
type matrixAttention struct {
	Tile   int // cache rows at a time, a power of two
	Piece  int // rows that pass through threadgroup memory at a time
	Terms  int // halves that a query is the sum of
	floats int // of threadgroup memory

	registers Registers
}

const (
	block = 8 // rows and columns of a simdgroup matrix
	// queryTerms is 1: rounding queries to halves moves a score as much as rounding
	// the cache's keys to halves has. With 2 the logits of the reference models are
	// within 0.010 instead of 0.012, for half as many products again.
	queryTerms = 1
	// minBlocks is the fewest blocks of latent columns per simdgroup. Models that have
	// fewer are for tests: what matters there is that the plain form rounds neither
	// queries nor weights, as their routers may choose by differences of 1e-4.
	minBlocks = 2
)

// matrixShape fits the matrix form into the registers of a budget and threadgroup memory, with
// the largest tile and in the largest pieces. It returns nil where the plain form has to
// serve: columns that are no whole blocks or too few, or too many heads.
func matrixShape(p *plan.Attend, threads int, budget *Budget) *matrixAttention {
	if !wholeBlocks(p) {
		return nil
	}
	simdgroups := threads / simdWidth
	heads := ceil(p.Heads, block)
	values := ceil(p.LatDim/block, simdgroups)
	if values < minBlocks {
		return nil
	}
	keys := values + ceil(p.PeDim/block, simdgroups)
	for tile := simdWidth; tile >= block; tile /= 2 {
		registers := matrixRegisters(p, threads, tile, keys, values)
		if registers.Held() > budget.Registers {
			continue
		}
		for piece := tile; piece >= block; piece /= 2 {
			shares := max(block*heads*(tile+4), piece*block*(keys|1)/2)
			floats := simdgroups*shares + block*heads*block + block*heads*(tile+8)/2
			if 4*floats <= maxThreadgroupBytes {
				return &matrixAttention{Tile: tile, Piece: piece, Terms: queryTerms, floats: floats, registers: registers}
			}
		}
	}
	return nil
}

// wholeBlocks says whether every block has columns of one kind, and whether queries can
// be loaded four columns at a time.
func wholeBlocks(p *plan.Attend) bool {
	return p.LatDim%block == 0 && p.PeDim%block == 0 && (p.QAbs.Offset|p.QAbs.Stride|p.QPe.Offset|p.QPe.Stride)%4 == 0
}
