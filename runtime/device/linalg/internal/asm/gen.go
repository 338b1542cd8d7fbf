package main

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// gen is an avo context with helpers for both instruction sets. Operands are in
// Go's order: the destination comes last.
type gen struct {
	*build.Context
	constants map[string][]byte // the data sections emitted so far, by name
	locals    []operand.Mem     // the function's stack slots; see local
	taken     int               // number of slots that the current loop uses
}

// begin starts a function. It can be called on any stack (NOSPLIT), and its arguments do not escape.
func (g *gen) begin(name, signature string, doc ...string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.locals = nil
	g.Pragma("noescape")
	g.SignatureExpr(signature)
	g.Doc(doc...)
}

// local returns a stack slot of size bytes. The loops of a function run one after the other, so they
// share the slots: slot i of every loop is the same memory.
func (g *gen) local(size int) operand.Mem {
	if g.taken == len(g.locals) {
		g.locals = append(g.locals, g.AllocLocal(size))
	}
	g.taken++
	return g.locals[g.taken-1]
}

// end returns from the function. VZEROUPPER clears the upper halves of the vector registers;
// SSE code after it would be slow otherwise.
func (g *gen) end() {
	g.VZEROUPPER()
	g.RET()
}

// param loads a pointer or integer argument into a register.
func (g *gen) param(name string) reg.GPVirtual {
	r := g.GP64()
	g.Load(g.Param(name), r)
	return r
}

// bytes returns the address of read-only data b. Two uses of a name must have the same data.
func (g *gen) bytes(name string, b ...byte) operand.Mem {
	symbol := operand.NewDataAddr(operand.NewStaticSymbol(name), 0)
	if have, ok := g.constants[name]; ok {
		if !bytes.Equal(have, b) {
			panic("asm: two constants are named " + name)
		}
		return symbol
	}
	g.constants[name] = b
	g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for len(b) >= 8 {
		g.AppendDatum(operand.U64(binary.LittleEndian.Uint64(b)))
		b = b[8:]
	}
	for len(b) >= 4 {
		g.AppendDatum(operand.U32(binary.LittleEndian.Uint32(b)))
		b = b[4:]
	}
	return symbol
}

// dwords is bytes for little-endian 32-bit words.
func (g *gen) dwords(name string, words ...uint32) operand.Mem {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return g.bytes(name, b...)
}

// qwords is bytes for little-endian 64-bit words.
func (g *gen) qwords(name string, words ...uint64) operand.Mem {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return g.bytes(name, b...)
}

// floats is bytes for float32.
func (g *gen) floats(name string, f ...float32) operand.Mem {
	var words []uint32
	for _, v := range f {
		words = append(words, math.Float32bits(v))
	}
	return g.dwords(name, words...)
}

// repeat returns a slice of n copies of v.
func repeat[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// table maps the 16 values of a nibble to numbers. name is the symbol of its data.
type table struct {
	name   string
	values [16]float32
}

var (
	fromMinus16 = ramp("fromMinus16", -16)
	fromMinus8  = ramp("fromMinus8", -8)
	from0       = ramp("from0", 0)
	from16      = ramp("from16", 16)
	// levels is the code book of IQ4_NL and IQ4_XS.
	levels = table{"levels", [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}}
	// e2m1 is the code book of MXFP4 and NVFP4: E2M1 numbers, doubled to be integers.
	e2m1 = table{"e2m1", [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}}
)

// ramp returns the table of 16 consecutive integers that begin with first.
func ramp(name string, first int) table {
	t := table{name: name}
	for i := range t.values {
		t.values[i] = float32(first + i)
	}
	return t
}

// at returns the memory at a byte offset from base.
func at(base reg.Register, offset int) operand.Mem {
	return operand.Mem{Base: base, Disp: offset}
}

// sumXMM adds the four lanes of v into lane 0.
func (g *gen) sumXMM(v reg.VecVirtual) {
	t := g.XMM()
	g.VPSHUFD(operand.U8(0x4e), v, t) // lanes 2 3 0 1
	g.VADDPS(t, v, v)
	g.VPSHUFD(operand.U8(0xb1), v, t) // lanes 1 0 3 2
	g.VADDSS(t, v, v)
}

// sumYMM returns a register whose lane 0 has the sum of the eight lanes of v.
func (g *gen) sumYMM(v reg.Register) reg.VecVirtual {
	y := v.(reg.Vec)
	high := g.XMM()
	g.VEXTRACTF128(operand.U8(1), y.AsY(), high)
	g.VADDPS(y.AsX(), high, high)
	g.sumXMM(high)
	return high
}

// sumZMM returns a register whose lane 0 has the sum of the sixteen lanes of v.
func (g *gen) sumZMM(v reg.VecVirtual) reg.VecVirtual {
	high := g.YMM()
	g.VEXTRACTF64X4(operand.U8(1), v, high)
	g.VADDPS(v.AsY(), high, high)
	return g.sumYMM(high)
}

// powers returns a table of 2^(e-128) for every byte e. These are the scales of MXFP4,
// halved because e2m1 is doubled.
func (g *gen) powers() operand.Mem {
	f := make([]float32, 256)
	for e := range f {
		f[e] = float32(math.Ldexp(1, e-128))
	}
	return g.floats("powers", f...)
}

// unpackScales unpacks the first 16 bytes of a Q4_K or Q5_K block (ggml's block_q4_K):
//
//	bytes  0–1   2–3    4–7  8–11  12–15
//	field  d     dmin   a    b     c        (a, b, c are scales[12])
//
// head is these 16 bytes as they are. scales has 16 bytes: 8 scales, then 8 minima, 6 bits each.
//
//	scales 0–3 = a&63    scales 4–7 = c&15 | a>>6<<4
//	minima 0–3 = b&63    minima 4–7 = c>>4 | b>>6<<4
//
// As dwords all sixteen are low | high, with
//
//	low  = [a, c, b, c>>4] & [63, 15, 63, 15]
//	high = [0, a>>2, 0, b>>2] & 48
func (g *gen) unpackScales(v isa, block reg.Register) (head, scales reg.VecVirtual) {
	low, high := g.XMM(), g.XMM()
	head = g.XMM()
	g.VMOVUPS(at(block, 0), head)
	g.VPSHUFD(operand.U8(0xed), head, low) // lanes 1 3 2 3
	g.VPSRLVD(g.dwords("lowShifts", 0, 0, 0, 4), low, low)
	v.and(g, g.dwords("lowMask", 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f), low, low)
	g.VPSHUFD(operand.U8(0x84), head, high) // lanes 0 1 0 2
	g.VPSRLD(operand.U8(2), high, high)
	v.and(g, g.dwords("highMask", 0, 0x30303030, 0, 0x30303030), high, high)
	v.or(g, high, low, low)
	return head, low
}
