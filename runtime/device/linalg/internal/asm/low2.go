package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"mla/runtime/quant"
)

// formatsLow2 are the formats below four bits, and NVFP4, for AVX2; a step is one block. These
// loops decode weights to floats before they multiply. So their sums have the same bits as those
// of rows of floats, which products with many inputs use. Each addition to one of a row's two
// running sums waits for the one before it, so a loop takes two rows in turns. grid2.go has the
// formats with code books.
var formatsLow2 = []format{
	{name: "Q2_K", elems: 256, bytes: 84, begin: q2_Kx2, few: true, pairs: true},
	{name: "Q3_K", elems: 256, bytes: 110, begin: q3_Kx2, few: true, pairs: true},
	{name: "TQ1_0", elems: 256, bytes: 54, begin: tq1_0x2, few: true, pairs: true},
	{name: "TQ2_0", elems: 256, bytes: 66, begin: tq2_0x2, few: true, pairs: true},
	{name: "Q1_0", elems: 128, bytes: 18, begin: q1_0x2, few: true, pairs: true},
	{name: "Q2_0", elems: 64, bytes: 18, begin: q2_0x2, few: true, pairs: true},
	{name: "NVFP4", elems: 64, bytes: 36, begin: nvfp4x2(0), few: true, pairs: true},
	{name: "NVFP4_SCALED", elems: 64, bytes: 40, begin: nvfp4x2(4), few: true, pairs: true},
}

// pairs2 emits the elements of two-bit codes, which begin at a byte offset in the block. Q2_K, Q3_K and
// TQ2_0 share the layout: of each 128 elements (half h of the block), element 32·k + i is in byte 32·h + i:
//
//	bits  7 6   5 4   3 2   1 0
//	k      3     2     1     0
//
// VPERMILPS looks four codes up in four floats, and ignores all but the lowest two bits. table
// returns these four floats, in both halves of a register, for row r and sub-block s of 16
// elements; s counts the eight sub-blocks of a half. After each half pairs2 calls next with 32,
// the bytes of eight scales: the caller's pointer advances by them.
func (l *loop) pairs2(offset int, table func(r, s int) reg.VecVirtual, next func(step int)) {
	l.repeat(2, 32, 16, func() {
		l.loadX(0, 16)
		for r, row := range l.rows {
			var codes [4]reg.VecVirtual
			for i := range codes {
				codes[i] = l.YMM()
				l.VPMOVZXBD(row.at(offset+8*i), codes[i])
			}
			for k := range 4 {
				var floats reg.VecVirtual
				for i, q := range codes {
					if i%2 == 0 {
						floats = table(r, 2*k+i/2)
					}
					w := l.YMM()
					l.VPERMILPS(q, floats, w)
					l.add(row, 4*k+i, w)
					if k < 3 {
						l.VPSRLD(operand.U8(2), q, q)
					}
				}
			}
		}
		next(32)
	})
}

// q2_Kx2 is the loop of Q2_K. ggml's block_q2_K has 16 bytes of scales (low nibbles) and minima
// (high nibbles), 64 bytes of codes, d and dmin. The stack has per row 16 scales times d as floats,
// and then 16 minima times dmin.
func q2_Kx2(g *gen, t shape) func(*loop) {
	low := g.bytes("mask15", repeat(64, byte(15))...)
	codes := g.load2(g.floats("codes0123", 0, 1, 2, 3, 0, 1, 2, 3))
	const size = 128
	stack := g.local(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			for i, offset := range []int{80, 82} { // byte offsets of d and dmin
				d, q := g.half2(row.at(offset)), g.XMM()
				g.VMOVDQU(row.at(0), q)
				if i == 1 {
					g.VPSRLW(operand.U8(4), q, q)
				}
				g.VPAND(low, q, q)
				g.keepScales(q, d, stack.Offset(size*r+64*i))
			}
		}
		scales, next := l.walk(stack)
		l.pairs2(16, func(r, s int) reg.VecVirtual {
			table := g.broadcast2(at(scales, size*r+4*s))
			g.VFMSUB213PS(g.broadcast2(at(scales, size*r+64+4*s)), codes, table)
			return table
		}, next)
	}
}

// tq2_0x2 is the loop of TQ2_0: 64 bytes of two-bit codes, then d. A block has one table.
func tq2_0x2(g *gen, _ shape) func(*loop) {
	codes := g.load2(g.floats("codesMinus1", -1, 0, 1, 2, -1, 0, 1, 2))
	return func(l *loop) {
		var tables []reg.VecVirtual
		for _, row := range l.rows {
			table := g.half2(row.at(64))
			g.VMULPS(codes, table, table)
			tables = append(tables, table)
		}
		l.pairs2(0, func(r, _ int) reg.VecVirtual { return tables[r] }, func(int) {})
	}
}

// q2_0x2 is the loop of Q2_0: d, then 16 bytes with four consecutive codes each. A dword has 16
// codes; each lane shifts its own code down.
func q2_0x2(g *gen, _ shape) func(*loop) {
	codes := g.load2(g.floats("codesMinus1", -1, 0, 1, 2, -1, 0, 1, 2))
	shifts := [2]reg.VecVirtual{
		g.load2(g.dwords("shifts2", 0, 2, 4, 6, 8, 10, 12, 14)),
		g.load2(g.dwords("shifts2upper", 16, 18, 20, 22, 24, 26, 28, 30)),
	}
	return func(l *loop) {
		l.loadX(0, 8)
		for _, row := range l.rows {
			table := g.half2(row.at(0))
			g.VMULPS(codes, table, table)
			for i := range 4 {
				q := g.YMM()
				g.VPBROADCASTD(row.at(2+4*i), q)
				for half, shift := range shifts {
					w := g.YMM()
					g.VPSRLVD(shift, q, w)
					g.VPERMILPS(w, table, w)
					l.add(row, 2*i+half, w)
				}
			}
		}
	}
}

// q1_0x2 is the loop of Q1_0: d, then one bit for each element: 1 for d, 0 for -d. All lanes get the bits of 32
// elements. Each lane shifts its bit to the sign, and flips the sign of d where the bit is 0.
func q1_0x2(g *gen, _ shape) func(*loop) {
	sign := g.load2(g.dwords("signs", repeat(8, uint32(1<<31))...))
	shifts := g.toSign()
	return func(l *loop) {
		l.loadX(0, 16)
		for _, row := range l.rows {
			d := g.half2(row.at(0))
			for i := range 4 {
				bits := g.YMM()
				g.VPBROADCASTD(row.at(2+4*i), bits)
				for k, shift := range shifts {
					w := g.YMM()
					g.VPSLLVD(shift, bits, w)
					g.VPANDN(sign, w, w)
					g.VPXOR(d, w, w)
					l.add(row, 4*i+k, w)
				}
			}
		}
	}
}

// toSign returns four vectors of shifts. Shift i moves bit 8·i + lane of a dword, which all
// lanes have, to bit 31 of the lane: the sign of a float.
func (g *gen) toSign() (shifts [4]reg.VecVirtual) {
	for i := range shifts {
		var list []uint32
		for lane := range uint32(8) {
			list = append(list, 31-uint32(8*i)-lane)
		}
		shifts[i] = g.load2(g.dwords([]string{"toSign0", "toSign1", "toSign2", "toSign3"}[i], list...))
	}
	return shifts
}

// keepScales stores the 16 signed bytes of q times d as 16 floats. It destroys q.
func (g *gen) keepScales(q, d reg.VecVirtual, to operand.Mem) {
	for i := range 2 {
		s := g.widen(q)
		g.VMULPS(d, s, s)
		g.VMOVUPS(s, to.Offset(32*i))
		g.VPSRLDQ(operand.U8(8), q, q)
	}
}

// addCodes adds 8·n weights from vector v on. Their codes are the bytes of q. addCodes stores q
// in memory and widens eight codes at a time from there; weights replaces these codes by weights.
func (l *loop) addCodes(row row, v, n int, q reg.VecVirtual, memory operand.Mem, weights func(i int, codes reg.VecVirtual)) {
	l.VMOVDQU(q, memory)
	for i := range n {
		w := l.YMM()
		l.VPMOVZXBD(memory.Offset(8*i), w)
		weights(i, w)
		l.add(row, v+i, w)
	}
}

// scalesQ3_K returns the 16 scales of a Q3_K block, less 32, as signed bytes. The 12 bytes at 96
// have (ggml's block_q3_K.scales):
//
//	bytes 0–7   low and high nibbles: bits 0–3 of scales 0–7 and 8–15
//	bytes 8–11  bits 2j and 2j+1 of byte i: bits 4–5 of scale 4j+i
func (g *gen) scalesQ3_K(v isa, block reg.Register) reg.VecVirtual {
	q, high := g.XMM(), g.XMM()
	g.VMOVQ(at(block, 96), q)
	g.VPSRLW(operand.U8(4), q, high)
	g.VPUNPCKLQDQ(high, q, q)
	v.and(g, g.bytes("mask15", repeat(64, byte(15))...), q, q)
	// After the shifts dword j has the upper bits of scales 4j to 4j+3 at bits 0 and 1 of its bytes.
	g.VPBROADCASTD(at(block, 104), high)
	g.VPSRLVD(g.dwords("shifts2", 0, 2, 4, 6, 8, 10, 12, 14), high, high)
	v.and(g, g.bytes("mask3", repeat(32, byte(3))...), high, high)
	g.VPSLLW(operand.U8(4), high, high)
	v.or(g, high, q, q)
	g.VPSUBB(g.bytes("bytes32", repeat(16, byte(32))...), q, q)
	return q
}

// q3_Kx2 is the loop of Q3_K. ggml's block_q3_K has 32 bytes of third bits (hmask: bit n of byte i belongs
// to element 32·n + i), 64 bytes of two-bit codes (see pairs2), the scales and d. The three bits of an element
// pick one of eight floats, -4 to 3 times the scale. The stack has per row:
//
//	bytes 0–63    16 scales times d, as floats
//	bytes 64–95   the third bits, shifted down by 4 for the second half of the block
//	bytes 96–159  twice the codes of 32 elements, see addCodes
func q3_Kx2(g *gen, t shape) func(*loop) {
	three, four := g.load2(g.bytes("mask3", repeat(32, byte(3))...)), g.load2(g.bytes("mask4", repeat(32, byte(4))...))
	numbers := g.load2(g.floats("codesMinus4", -4, -3, -2, -1, 0, 1, 2, 3))
	const thirdsAt, codesAt, size = 64, 96, 160
	stack := g.local(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			g.keepScales(g.scalesQ3_K(avx2, row.block), g.half2(row.at(108)), stack.Offset(size*r))
			g.VMOVUPS(g.load2(row.at(0)), stack.Offset(size*r+thirdsAt))
		}
		scales, next := l.walk(stack)
		l.repeat(2, 32, 16, func() {
			l.loadX(0, 16)
			for r, row := range l.rows {
				codes, thirds := g.load2(row.at(32)), g.load2(stack.Offset(size*r+thirdsAt))
				for k := range 4 {
					q, third := codes, thirds
					if k > 0 {
						q = g.YMM()
						g.VPSRLW(operand.U8(2*k), codes, q)
					}
					switch { // move bit k of the third bits to bit 2
					case k < 2:
						third = g.YMM()
						g.VPSLLW(operand.U8(2-k), thirds, third)
					case k == 3:
						third = g.YMM()
						g.VPSRLW(operand.U8(1), thirds, third)
					}
					low, high := g.YMM(), g.YMM()
					g.VPAND(three, q, low)
					g.VPAND(four, third, high)
					g.VPOR(high, low, low)
					var table reg.VecVirtual
					l.addCodes(row, 4*k, 4, low, stack.Offset(size*r+codesAt+32*(k%2)), func(i int, codes reg.VecVirtual) {
						if i%2 == 0 {
							table = g.broadcast2(at(scales, size*r+4*(2*k+i/2)))
							g.VMULPS(numbers, table, table)
						}
						g.VPERMPS(table, codes, codes)
					})
				}
				g.VPSRLW(operand.U8(4), thirds, thirds)
				g.VMOVUPS(thirds, stack.Offset(size*r+thirdsAt))
			}
			next(32)
		})
	}
}

// tq1_0x2 is the loop of TQ1_0, whose bytes have five base-3 digits (ternary codes) each. A byte b stands
// for the fraction b/256. Its first digit is floor(3·b/256): the number of the limits 1/3 and 2/3
// that the fraction reaches. 3·b modulo 256 is the fraction of the digits after it. Each compare
// gives -1 for a reached limit, so the sum is minus the digit. The lowest two bits of this sum
// (0, 3 or 2) pick one of the four floats of digits.
//
//	bytes 0–31   digit k of byte i is element 32·k + i
//	bytes 32–47  digit k of byte 32+i is element 160 + 16·k + i
//	bytes 48–51  four digits each: see lastOfTQ1_0
//	bytes 52–53  d
func tq1_0x2(g *gen, t shape) func(*loop) {
	limits := [2]reg.VecVirtual{g.load2(g.bytes("oneThird", repeat(32, byte(86))...)), g.load2(g.bytes("twoThirds", repeat(32, byte(171))...))}
	digits := g.load2(g.floats("minusDigits", -1, 0, 1, 0, -1, 0, 1, 0))
	const size = 64
	stack := g.local(size * t.rows)
	return func(l *loop) {
		for r, row := range l.rows {
			table := g.half2(row.at(52))
			g.VMULPS(digits, table, table)
			add := func(v, n int, b reg.VecVirtual) {
				q, t := g.YMM(), g.YMM()
				g.VPMAXUB(limits[0], b, q)
				g.VPCMPEQB(b, q, q) // -1 where b reaches 1/3
				g.VPMAXUB(limits[1], b, t)
				g.VPCMPEQB(b, t, t)
				g.VPADDB(t, q, q)
				l.loadX(v, n)
				l.addCodes(row, v, n, q, stack.Offset(size*r+32*(v/n%2)), func(_ int, codes reg.VecVirtual) {
					g.VPERMILPS(codes, table, codes)
				})
			}
			run := func(v, n int, b reg.VecVirtual) {
				for k := range 5 {
					add(v+n*k, n, b)
					if k < 4 {
						g.triple(b)
					}
				}
			}
			run(0, 4, g.load2(row.at(0)))
			last := g.YMM()
			g.VBROADCASTI128(row.at(32), last)
			run(20, 2, last)
			add(30, 2, g.lastOfTQ1_0(row.block))
		}
	}
}

// lastOfTQ1_0 returns the fractions of the last 16 elements of a TQ1_0 block, in the lower half of
// a register: element 4·k + i is byte 48+i times 3^k, modulo 256.
func (g *gen) lastOfTQ1_0(block reg.Register) reg.VecVirtual {
	b, high := g.YMM(), g.XMM() // b has words, of which only the lower bytes count
	g.VPBROADCASTD(at(block, 48), b.AsX())
	g.VPMOVZXBW(b.AsX(), b)
	g.VPMULLW(g.powersOf3(), b, b)
	g.VPAND(g.dwords("lowBytes", repeat(8, uint32(0x00ff00ff))...), b, b)
	g.VEXTRACTI128(operand.U8(1), b, high)
	g.VPACKUSWB(high, b.AsX(), b.AsX())
	return b
}

// powersOf3 returns 16 words: 1, 3, 9 and 27, each four times.
func (g *gen) powersOf3() operand.Mem {
	return g.dwords("powersOf3", 0x10001, 0x10001, 0x30003, 0x30003, 0x90009, 0x90009, 0x1b001b, 0x1b001b)
}

// nvfp4x2 returns begin of NVFP4: four scale bytes, then 8 bytes of nibbles for each sub-block of 16
// elements. Byte i of a sub-block has element i in its low nibble and element 8+i in its high
// nibble. head is the size of what precedes the scales: 0, or 4 for a float32 that
// multiplies all scales of the block.
func nvfp4x2(head int) func(*gen, shape) func(*loop) {
	return func(g *gen, t shape) func(*loop) { return g.nvfp4(t, head) }
}

// nvfp4 is nvfp4x2 for a given shape.
func (g *gen) nvfp4(t shape, head int) func(*loop) {
	low := g.load2(g.bytes("mask15", repeat(64, byte(15))...))
	table := g.byteTable(shape{tile: t.tile, int8: true}, &e2m1).(reg.VecVirtual)
	scales := g.variable("nvfp4Scales")
	return func(l *loop) {
		l.loadX(0, 8)
		for _, row := range l.rows {
			var factor reg.VecVirtual
			if head > 0 {
				factor = g.broadcast2(row.at(0))
			}
			for sub := range 4 {
				q, high, e := g.YMM(), g.XMM(), g.GP64()
				g.VMOVQ(row.at(head+4+8*sub), q.AsX())
				g.VPSRLW(operand.U8(4), q.AsX(), high)
				g.VPUNPCKLQDQ(high, q.AsX(), q.AsX())
				g.VPAND(low.AsX(), q.AsX(), q.AsX())
				g.VPSHUFB(q.AsX(), table.AsX(), q.AsX())
				g.MOVBQZX(row.at(head+sub), e)
				scale := g.broadcast2(operand.Mem{Base: scales, Index: e, Scale: 4})
				if head > 0 {
					g.VMULPS(factor, scale, scale)
				}
				for half := range 2 {
					w := g.widen(q.AsX())
					if half == 0 {
						g.VPSRLDQ(operand.U8(8), q.AsX(), q.AsX())
					}
					g.VMULPS(scale, w, w)
					l.add(row, 2*sub+half, w)
				}
			}
		}
	}
}

// variable returns a register with the address of a variable of package linalg.
func (g *gen) variable(name string) reg.GPVirtual { return g.variableAt(name, 0) }

// byteBook returns a register with the address of a code book's first entry, as bytes. The variable has 16 bytes
// before the entries and 16 after them, because loads of entries begin before an entry; see entries.
func (g *gen) byteBook(t quant.Type) reg.GPVirtual { return g.variableAt("byteBook"+bookName(t), 16) }

// variableAt returns a register with the address of a byte offset in a variable of package linalg.
func (g *gen) variableAt(name string, offset int) reg.GPVirtual {
	r := g.GP64()
	g.LEAQ(operand.NewDataAddr(operand.Symbol{Name: "·" + name}, offset), r)
	return r
}
