package msl

import (
	"slices"

	"mla/gen/target"
	"mla/runtime/plan"
	"mla/runtime/plan/verify"
	"mla/runtime/quant"
)

// matrixAttention is the shape of the matrix form of attention for one type of cache; see
// templates/msl/lib/attend_matrix.metal.
type matrixAttention struct {
	Cache  quant.Type
	Tile   int // cache rows at a time, a power of two
	Piece  int // rows that pass through threadgroup memory at a time
	Terms  int // number of halves whose sum is a query
	Heads  int // heads that attend at a time
	floats int // of threadgroup memory

	registers Registers
}

const (
	block = verify.Block // rows and columns of a simdgroup matrix
	// queryTerms is 1: rounding a query to halves changes a score as much as the cache's rounding of keys to
	// halves already has. With 2 the logits of the reference models are within 0.010 instead of 0.012, for
	// 1.5 times as many products.
	queryTerms = 1
	// minBlocks is the least number of blocks of latent columns per simdgroup. Only models for tests have
	// fewer. Their routers may choose by differences of 1e-4, so they need the plain form, which rounds
	// neither queries nor weights.
	minBlocks = 2
)

// cacheLoad is how a lane loads cache rows: widest columns in 16 bytes, or if these do not divide a row, a
// block of 8 columns. Each load takes scale registers for its scale.
type cacheLoad struct{ widest, scale int }

// cacheLoads has the types of cache that have a matrix form: see templates/msl/lib/cache.metal.
var cacheLoads = map[quant.Type]cacheLoad{quant.F16: {8, 0}, quant.Q8_0: {16, 1}}

// loads returns how many loads of a lane fetch its part of a tile, whose rows have a number of blocks, and
// the registers that they take.
func (c cacheLoad) loads(tile, blocks int) (n, registers int) {
	each := block
	if blocks*block%c.widest == 0 {
		each = c.widest
	}
	n = ceil(tile*blocks*block/each, simdWidth)
	return n, n * (4*each/c.widest + c.scale)
}

// matrixShapes lists the matrix forms of attention on the types of cache that have one.
func matrixShapes(p *plan.Attend, threads int, budget *target.Budget) []matrixAttention {
	var list []matrixAttention
	for _, t := range plan.CacheTypes(p.LatDim, p.PeDim) {
		if _, ok := cacheLoads[t]; ok {
			if m := matrixShape(p, threads, budget, t); m != nil {
				list = append(list, *m)
			}
		}
	}
	return list
}

// matrix returns the matrix form for a type of cache, or nil if it has only the plain form.
func (a *attention) matrix(cache quant.Type) *matrixAttention {
	if i := slices.IndexFunc(a.Matrix, func(m matrixAttention) bool { return m.Cache == cache }); i >= 0 {
		return &a.Matrix[i]
	}
	return nil
}

// matrixShape fits the matrix form into the registers of a budget and into threadgroup memory, with as many
// heads at a time as possible. It returns nil if only the plain form works: columns are not whole blocks,
// there are too few columns, or too many heads.
func matrixShape(p *plan.Attend, threads int, budget *target.Budget, cache quant.Type) *matrixAttention {
	if !wholeBlocks(p) {
		return nil
	}
	for _, heads := range turns(p.Heads, budget) {
		if m := matrixOfHeads(p, heads, threads, budget, cache); m != nil {
			return m
		}
	}
	return nil
}

// matrixOfHeads is matrixShape for a fixed number of heads at a time. It takes the largest tile, a power of
// two of at most 32 rows, and for this tile the largest pieces.
func matrixOfHeads(p *plan.Attend, atATime, threads int, budget *target.Budget, cache quant.Type) *matrixAttention {
	simdgroups := threads / simdWidth
	heads := ceil(atATime, block)
	values := ceil(p.LatDim/block, simdgroups)
	if values < minBlocks {
		return nil
	}
	keys := values + ceil(p.PeDim/block, simdgroups)
	for tile := simdWidth; tile >= block; tile /= 2 {
		registers := matrixRegisters(atATime, threads, tile, keys, values, cache)
		if registers.Held() > budget.Matrix(cache) {
			continue
		}
		for piece := tile; piece >= block; piece /= 2 {
			shares := max(block*heads*(tile+4), piece*block*(keys|1)/2)
			floats := simdgroups*shares + block*heads*(block+1) + block*heads*(tile+8)/2
			if 4*floats <= target.ThreadgroupBytes {
				return &matrixAttention{Cache: cache, Tile: tile, Piece: piece, Terms: queryTerms, Heads: atATime, floats: floats, registers: registers}
			}
		}
	}
	return nil
}

// wholeBlocks reports whether latent and rotated columns are whole blocks, and queries can be loaded four
// columns at a time.
func wholeBlocks(p *plan.Attend) bool {
	return p.LatDim%block == 0 && p.PeDim%block == 0 && (p.QAbs.Offset|p.QAbs.Stride|p.QPe.Offset|p.QPe.Stride)%4 == 0
}
