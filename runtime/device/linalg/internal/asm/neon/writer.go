// Package neon writes the arm64 assembly of package linalg: inner loops with NEON instructions, and with
// those for products of bytes (SDOT, SMMLA).
//
// The loops decode weights to the floats that Dequantize returns, to the bit. A row has 16 running sums:
// element i is added to sum i mod 16. So a result differs from that of the Go loop only in the order of
// additions.
//
// Go's assembler knows few vector instructions. So all vector instructions are WORD directives from one table, with the
// instruction's text as a comment. Instructions on general registers are in the syntax of Go's assembler.
package neon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// reg is the number of a vector register, gp that of a general register.
type (
	reg = int
	gp  = int
)

// writer writes functions. It hands out the registers of a function by number.
type writer struct {
	text, stubs, data bytes.Buffer
	constants         map[string]bool
	scope
}

// scope is the state of one function.
type scope struct {
	params  map[string]int // argument → byte offset
	vectors [32]bool       // registers in use
	gps     [32]bool
	labels  int
}

// reserved are the registers that functions must not change, or that the linker and the assembler use.
var reserved = []gp{16, 17, 18, 26, 27, 28, 29, 30, 31}

// begin starts a function with frame bytes of local memory on the stack.
func (w *writer) begin(name, signature string, frame int, doc string) {
	w.scope = scope{params: map[string]int{}}
	for _, r := range reserved {
		w.gps[r] = true
	}
	size := w.arguments(signature)
	fmt.Fprintf(&w.text, "\n// func %s%s\nTEXT ·%s(SB), NOSPLIT, $%d-%d\n", name, strings.TrimPrefix(signature, "func"), name, frame, size)
	fmt.Fprintf(&w.stubs, "\n// %s\n//\n//go:noescape\nfunc %s%s\n", doc, name, strings.TrimPrefix(signature, "func"))
}

// arguments records the offsets of the arguments in w.params. It returns the size of arguments and result in bytes.
func (w *writer) arguments(signature string) (size int) {
	list, result, _ := strings.Cut(strings.TrimPrefix(signature, "func("), ")")
	fields := strings.Split(list, ", ")
	types := make([]string, len(fields))
	for i, f := range slices.Backward(fields) { // a name without a type has the type of the next name
		name, typ, ok := strings.Cut(f, " ")
		if !ok {
			typ = types[i+1]
		}
		fields[i], types[i] = name, typ
	}
	for i, name := range fields {
		if types[i] == "float32" {
			w.params[name] = size
			size += 4
			continue
		}
		size = (size + 7) &^ 7
		w.params[name] = size
		size += 8
	}
	if strings.TrimSpace(result) == "float32" {
		size = (size + 7) &^ 7
		w.params["ret"] = size
		size += 4
	}
	return size
}

// op writes an instruction of the table instructions.
func (w *writer) op(name string, operands ...int) {
	word, text := encode(name, operands...)
	fmt.Fprintf(&w.text, "\tWORD $0x%08x // %s\n", word, text)
}

// code writes an instruction in the syntax of Go's assembler.
func (w *writer) code(format string, args ...any) { fmt.Fprintf(&w.text, "\t"+format+"\n", args...) }

// label writes a label and returns its name.
func (w *writer) label() string {
	w.labels++
	name := fmt.Sprintf("loop%d", w.labels)
	fmt.Fprintf(&w.text, "%s:\n", name)
	return name
}

// times emits a loop that runs n times.
func (w *writer) times(n int, body func()) {
	left := w.gp()
	w.code("MOVD $%d, R%d", n, left)
	w.until(left, 1, body)
	w.freeGP(left)
}

// until emits a loop that subtracts step from the register left until it is 0.
func (w *writer) until(left gp, step int, body func()) {
	label := w.label()
	body()
	w.code("SUBS $%d, R%d", step, left)
	w.code("BNE %s", label)
}

// vec hands out a vector register; it panics if none is left.
func (w *writer) vec() reg {
	i := slices.Index(w.vectors[:], false)
	w.vectors[i] = true
	return i
}

// vecs hands out n vector registers.
func (w *writer) vecs(n int) []reg {
	list := make([]reg, n)
	for i := range list {
		list[i] = w.vec()
	}
	return list
}

// free takes vector registers back.
func (w *writer) free(list ...reg) {
	for _, r := range list {
		w.vectors[r] = false
	}
}

// gp hands out a general register; it panics if none is left.
func (w *writer) gp() gp {
	i := slices.Index(w.gps[:], false)
	w.gps[i] = true
	return i
}

// freeGP takes general registers back.
func (w *writer) freeGP(list ...gp) {
	for _, r := range list {
		w.gps[r] = false
	}
}

// param loads a pointer or integer argument.
func (w *writer) param(name string) gp {
	r := w.gp()
	w.code("MOVD %s+%d(FP), R%d", name, w.offset(name), r)
	return r
}

// floatParam loads a float32 argument into the lowest lane.
func (w *writer) floatParam(name string) reg {
	v := w.vec()
	w.code("FMOVS %s+%d(FP), F%d", name, w.offset(name), v)
	return v
}

// offset returns the byte offset of an argument.
func (w *writer) offset(name string) int {
	offset, ok := w.params[name]
	if !ok {
		panic("neon: no argument " + name)
	}
	return offset
}

// result stores the lowest lane of v as the function's result.
func (w *writer) result(v reg) { w.code("FMOVS F%d, ret+%d(FP)", v, w.offset("ret")) }

// end returns from the function.
func (w *writer) end() { w.code("RET") }

// after returns a new register with base + offset.
func (w *writer) after(base gp, offset int) gp {
	r := w.gp()
	w.code("ADD $%d, R%d, R%d", offset, base, r)
	return r
}

// add advances a pointer.
func (w *writer) add(base gp, bytes int) { w.code("ADD $%d, R%d", bytes, base) }

// sizes has the bytes of a register that a load or store names by a letter.
var sizes = map[string]int{"q": 16, "d": 8, "s": 4, "h": 2}

// load loads a register of a size (see sizes) from a byte offset. Offsets that LDR cannot encode take LDUR.
func (w *writer) load(size string, v reg, base gp, offset int) {
	switch {
	case offset >= 0 && offset%sizes[size] == 0 && offset/sizes[size] < 1<<12:
		w.op("ldr "+size, v, base, offset)
	default:
		w.op("ldur "+size, v, base, offset)
	}
}

// loaded is load into a new register.
func (w *writer) loaded(size string, base gp, offset int) reg {
	v := w.vec()
	w.load(size, v, base, offset)
	return v
}

// half converts the float16 at a byte offset to float32, in the lowest lane of a new register.
func (w *writer) half(base gp, offset int) reg {
	v := w.loaded("h", base, offset)
	w.op("fcvt sh", v, v)
	return v
}

// everywhere copies the lowest lane of v to all lanes of v, and returns v.
func (w *writer) everywhere(v reg) reg {
	w.op("dup 4s", v, v, 0)
	return v
}

// symbol returns a register with the address of a variable of the package, or of a constant if the name ends in "<>".
func (w *writer) symbol(name string) gp {
	r := w.gp()
	if !strings.HasSuffix(name, "<>") {
		name = "·" + name
	}
	w.code("MOVD $%s(SB), R%d", name, r)
	return r
}

// define adds 16 bytes of read-only data, once per name.
func (w *writer) define(name string, b []byte) {
	if len(b) != 16 {
		panic(fmt.Sprintf("neon: constant %s of %d bytes", name, len(b)))
	}
	if w.constants[name] {
		return
	}
	w.constants[name] = true
	for at := 0; at < len(b); at += 8 {
		fmt.Fprintf(&w.data, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, at, binary.LittleEndian.Uint64(b[at:]))
	}
	fmt.Fprintf(&w.data, "GLOBL %s<>(SB), RODATA|NOPTR, $16\n", name)
}

// bytes loads 16 constant bytes.
func (w *writer) bytes(name string, b ...byte) reg {
	w.define(name, b)
	at := w.symbol(name + "<>")
	v := w.loaded("q", at, 0)
	w.freeGP(at)
	return v
}

// words loads four constant 32-bit words.
func (w *writer) words(name string, list ...uint32) reg {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return w.bytes(name, b...)
}

// float loads a constant into all lanes.
func (w *writer) float(f float32) reg {
	bits := math.Float32bits(f)
	r, v := w.gp(), w.vec()
	w.code("MOVW $0x%x, R%d", bits, r)
	w.op("dup 4sw", v, r)
	w.freeGP(r)
	return v
}

// all loads a constant byte into all 16 bytes.
func (w *writer) all(b byte) reg { return w.bytes(fmt.Sprintf("bytes%d", b), repeat(16, b)...) }

// repeat returns a slice of n copies of v.
func repeat[T any](n int, v T) []T { return slices.Repeat([]T{v}, n) }

// Generate returns the assembly file and the Go file that declares its functions.
func Generate() (assembly, declarations []byte) {
	w := &writer{constants: map[string]bool{}}
	for _, p := range plainFormats {
		w.plain(p)
	}
	for _, f := range formats {
		w.row(f)
		w.decode(f)
	}
	for _, f := range int8Formats {
		w.int8Row(f)
		w.int8Tile(f)
	}
	w.arrangeBlocks()
	w.arrangeSuper()
	w.vectorLoops()
	for _, s := range productShapes {
		w.productLoop(s)
	}
	const head = "// Code generated by internal/asm. DO NOT EDIT.\n\n"
	assembly = slices.Concat([]byte(head+"#include \"textflag.h\"\n\n"), w.data.Bytes(), w.text.Bytes())
	return assembly, slices.Concat([]byte(head+"package linalg\n"), w.stubs.Bytes())
}
