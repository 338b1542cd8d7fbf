package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"mla/runtime/quant"
)

// machine interprets the assembly of the loops of low512.go, so that tests run without AVX-512. An instruction that it
// does not know is an error.
type machine struct {
	memory  []byte
	gp      map[string]uint64
	vectors [32][64]byte
	symbols map[string]uint64
	args    uint64 // address of the arguments
	zero    bool   // the zero flag
}

// Addresses of the parts of a machine's memory.
const (
	argsAt, resultsAt   = 0x1000, 0x1800
	stackAt, dataAt     = 0x2000, 0x10000
	weightsAt, floatsAt = 0x80000, 0x100000
)

// newMachine returns a machine with the data of an assembly file, and with variables of package linalg.
func newMachine(assembly string, variables map[string][]float32) *machine {
	m := &machine{memory: make([]byte, 2*floatsAt), gp: map[string]uint64{"SP": stackAt}, symbols: map[string]uint64{}, args: argsAt}
	next := uint64(dataAt)
	place := func(name string, size uint64) uint64 {
		if _, ok := m.symbols[name]; !ok {
			m.symbols[name] = next
			next += size
		}
		return m.symbols[name]
	}
	for _, g := range regexp.MustCompile(`(?m)^GLOBL (\S+)<>\(SB\), \S+, \$(\d+)`).FindAllStringSubmatch(assembly, -1) {
		size, _ := strconv.ParseUint(g[2], 10, 64)
		place(g[1]+"<>", size)
	}
	for _, d := range regexp.MustCompile(`(?m)^DATA (\S+)<>\+(\d+)\(SB\)/(\d), \$0x(\w+)`).FindAllStringSubmatch(assembly, -1) {
		offset, _ := strconv.ParseUint(d[2], 10, 64)
		value, _ := strconv.ParseUint(d[4], 16, 64)
		at := m.memory[m.symbols[d[1]+"<>"]+offset:]
		if d[3] == "8" {
			binary.LittleEndian.PutUint64(at, value)
		} else {
			binary.LittleEndian.PutUint32(at, uint32(value))
		}
	}
	for name, floats := range variables {
		putFloats(m.memory[place("·"+name, uint64(4*len(floats))):], floats)
	}
	return m
}

func putFloats(b []byte, floats []float32) {
	for i, f := range floats {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
}

func floatAt(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

// call runs a function of the assembly file. The arguments are 64-bit integers, in order.
func (m *machine) call(assembly, name string, args ...uint64) error {
	_, body, ok := strings.Cut(assembly, "\nTEXT ·"+name+"(SB)")
	if !ok {
		return fmt.Errorf("no function %s", name)
	}
	body, _, _ = strings.Cut(body, "\tRET\n")
	for i, a := range args {
		binary.LittleEndian.PutUint64(m.memory[argsAt+8*i:], a)
	}
	lines, labels := strings.Split(body, "\n")[1:], map[string]int{}
	for i, line := range lines {
		if label, ok := strings.CutSuffix(line, ":"); ok {
			labels[label] = i
		}
	}
	for i := 0; i < len(lines); i++ {
		op, rest, _ := strings.Cut(strings.TrimSpace(lines[i]), " ")
		switch {
		case op == "" || strings.HasSuffix(op, ":"):
		case op == "JNZ":
			if !m.zero {
				i = labels[rest]
			}
		default:
			if err := m.do(op, strings.Split(rest, ", ")); err != nil {
				return fmt.Errorf("%s: %s: %w", name, strings.TrimSpace(lines[i]), err)
			}
		}
	}
	return nil
}

var address = regexp.MustCompile(`^(?:(\S+<>|·\w+)\+)?(-?\d+)?(?:\((\w+)\))?(?:\((\w+)\*(\d)\))?$`)

// at returns the memory that an operand addresses.
func (m *machine) at(operand string) ([]byte, uint64) {
	if name, ok := strings.CutSuffix(operand, "(FP)"); ok {
		_, offset, _ := strings.Cut(name, "+")
		n, _ := strconv.ParseUint(offset, 10, 64)
		return m.memory[m.args+n:], m.args + n
	}
	p := address.FindStringSubmatch(operand)
	if p == nil {
		panic("no address: " + operand)
	}
	offset, _ := strconv.ParseInt(p[2], 10, 64)
	sum := uint64(offset) + m.symbols[p[1]]
	if p[3] != "SB" {
		sum += m.gp[p[3]]
	}
	scale, _ := strconv.ParseUint(p[5], 10, 64)
	sum += scale * m.gp[p[4]]
	return m.memory[sum:], sum
}

// vector returns the number and the size of a vector register.
func vector(operand string) (n, size int, ok bool) {
	size, ok = map[byte]int{'X': 16, 'Y': 32, 'Z': 64}[operand[0]]
	n, err := strconv.Atoi(operand[1:])
	return n, size, ok && err == nil
}

// read returns the value of an operand.
func (m *machine) read(operand string) []byte {
	if n, _, ok := vector(operand); ok {
		return m.vectors[n][:]
	}
	b, _ := m.at(operand)
	return b
}

// immediate returns the number that an operand is.
func immediate(operand string) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(operand, "$0x"), 16, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// dwords has the instructions on 32-bit lanes. A function gets one lane of every operand, the destination last, and returns the
// destination's lane.
var dwords = map[string]func(v []uint32) uint32{
	"VADDPS":           floats(func(v []float32) float32 { return v[0] + v[1] }),
	"VMULPS":           floats(func(v []float32) float32 { return v[0] * v[1] }),
	"VMULPS.BCST":      floats(func(v []float32) float32 { return v[0] * v[1] }),
	"VFMADD231PS":      floats(func(v []float32) float32 { return fused(v[0], v[1], v[2]) }),
	"VFMSUB213PS.BCST": floats(func(v []float32) float32 { return fused(v[1], v[2], -v[0]) }),
	"VCVTDQ2PS":        func(v []uint32) uint32 { return math.Float32bits(float32(int32(v[0]))) },
	"VPANDD":           func(v []uint32) uint32 { return v[0] & v[1] },
	"VPORD":            func(v []uint32) uint32 { return v[0] | v[1] },
	"VXORPS":           func(v []uint32) uint32 { return v[0] ^ v[1] },
	"VPSRLVD":          func(v []uint32) uint32 { return v[1] >> v[0] },
	"VPSLLVD":          func(v []uint32) uint32 { return v[1] << v[0] },
}

// floats turns a function of floats into one of dwords. The last element of v is the destination's old value.
func floats(f func(v []float32) float32) func(v []uint32) uint32 {
	return func(v []uint32) uint32 {
		var list []float32
		for _, w := range v {
			list = append(list, math.Float32frombits(w))
		}
		return math.Float32bits(f(list))
	}
}

// fused returns a·b + c. The product is exact in float64; the sum is rounded to float64, and then to float32.
func fused(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

// do runs an instruction.
func (m *machine) do(op string, a []string) error {
	last := a[len(a)-1]
	n, size, isVector := 0, 0, false
	if last != "" {
		n, size, isVector = vector(last)
	}
	if !isVector {
		return m.general(op, a)
	}
	var result [64]byte
	word := func(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	each := func(lanes int, f func(i int) uint32) {
		for i := range lanes {
			binary.LittleEndian.PutUint32(result[4*i:], f(i))
		}
	}
	src := func(i int) []byte { return m.read(a[i]) }
	switch op {
	case "VMOVUPS", "VMOVAPS", "VMOVDQU32":
		copy(result[:size], src(0))
	case "VMOVD", "VMOVQ":
		n := map[byte]int{'D': 4, 'Q': 8}[op[len(op)-1]]
		copy(result[:n], src(0)[:n])
	case "VPBROADCASTW", "VPBROADCASTD", "VPBROADCASTQ", "VBROADCASTSS":
		unit := map[byte]int{'W': 2, 'D': 4, 'Q': 8, 'S': 4}[op[len(op)-1]]
		for i := 0; i < size; i += unit {
			copy(result[i:], src(0)[:unit])
		}
	case "VCVTPH2PS":
		each(size/4, func(i int) uint32 {
			return math.Float32bits(quant.HalfToFloat(binary.LittleEndian.Uint16(src(0)[2*i:])))
		})
	case "VPMOVZXBD":
		each(size/4, func(i int) uint32 { return uint32(src(0)[i]) })
	case "VPMOVSXBD":
		each(size/4, func(i int) uint32 { return uint32(int8(src(0)[i])) })
	case "VPSRLD":
		each(size/4, func(i int) uint32 { return word(src(1), i) >> immediate(a[0]) })
	case "VPSLLD":
		each(size/4, func(i int) uint32 { return word(src(1), i) << immediate(a[0]) })
	case "VPSRLW", "VPSLLW":
		for i := 0; i < size; i += 2 {
			w := binary.LittleEndian.Uint16(src(1)[i:])
			if op == "VPSRLW" {
				w >>= immediate(a[0])
			} else {
				w <<= immediate(a[0])
			}
			binary.LittleEndian.PutUint16(result[i:], w)
		}
	case "VPSRLVQ":
		for i := 0; i < size; i += 8 {
			binary.LittleEndian.PutUint64(result[i:], binary.LittleEndian.Uint64(src(1)[i:])>>binary.LittleEndian.Uint64(src(0)[i:]))
		}
	case "VPERMPS":
		each(size/4, func(i int) uint32 { return word(src(0), int(word(src(1), i))%(size/4)) })
	case "VPSHUFD":
		each(4, func(i int) uint32 { return word(src(1), int(immediate(a[0])>>(2*i)&3)) })
	case "VPTERNLOGD":
		each(size/4, func(i int) (w uint32) {
			x, y, z := word(src(3), i), word(src(2), i), word(src(1), i)
			for bit := range 32 {
				w |= uint32(immediate(a[0])>>(x>>bit&1<<2|y>>bit&1<<1|z>>bit&1)&1) << bit
			}
			return w
		})
	case "VPUNPCKLQDQ":
		copy(result[:8], src(1))
		copy(result[8:16], src(0)[:8])
	case "VPSUBB":
		for i := range size {
			result[i] = src(1)[i] - src(0)[i]
		}
	case "VEXTRACTF128", "VEXTRACTF64X4":
		copy(result[:size], src(1)[size*int(immediate(a[0])):])
	case "VADDSS":
		copy(result[:16], src(1))
		putFloats(result[:], []float32{floatAt(src(0)) + floatAt(src(1))})
	default:
		f := dwords[op]
		if f == nil {
			return fmt.Errorf("unknown instruction")
		}
		each(size/4, func(i int) uint32 {
			var v []uint32
			for k := range a {
				lane := i
				if k == 0 && strings.HasSuffix(op, ".BCST") {
					lane = 0
				}
				v = append(v, word(src(k), lane))
			}
			return f(v)
		})
	}
	m.vectors[n] = result // the bytes above the result are zero
	return nil
}

// general runs an instruction whose result is not a vector register.
func (m *machine) general(op string, a []string) error {
	last := a[len(a)-1]
	switch op {
	case "VZEROUPPER", "PREFETCHT0":
	case "VMOVUPS", "VMOVQ", "MOVSS", "VMOVSS":
		n, size, _ := vector(a[0])
		if less, ok := map[string]int{"VMOVQ": 8, "MOVSS": 4, "VMOVSS": 4}[op]; ok {
			size = less
		}
		to, _ := m.at(last)
		copy(to, m.vectors[n][:size])
	case "MOVQ":
		b, _ := m.at(a[0])
		m.gp[last] = binary.LittleEndian.Uint64(b)
	case "MOVBQZX":
		b, _ := m.at(a[0])
		m.gp[last] = uint64(b[0])
	case "LEAQ":
		_, m.gp[last] = m.at(a[0])
	case "ADDQ":
		m.gp[last] += immediate(a[0])
	case "DECQ":
		m.gp[last]--
		m.zero = m.gp[last] == 0
	default:
		return fmt.Errorf("unknown instruction")
	}
	return nil
}
