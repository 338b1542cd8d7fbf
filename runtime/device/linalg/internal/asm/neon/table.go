package neon

import "fmt"

// field is the place of an operand in an instruction: some bits from bit at on. The encoded number is operand/unit if unit is
// set, from - operand if from is set, else operand + add.
type field struct {
	at, bits, unit, from, add int
	twin                      int // bit of a second place for the same number; 0: none
	signed                    bool
}

// Places of registers. d, n and m are the names of Arm's manual (Rd, Rn, Rm).
var (
	d  = field{at: 0, bits: 5}
	n  = field{at: 5, bits: 5}
	m  = field{at: 16, bits: 5}
	t2 = field{at: 10, bits: 5} // the second register of a pair
	// nn is a register that is both operands of ORR: this is a move.
	nn = field{at: 5, bits: 5, twin: 16}
)

// Offsets of loads and stores: unsigned in units of the register's bytes, near of -256 to 255 bytes, pair for LDP and STP.
func unsigned(unit int) field { return field{at: 10, bits: 12, unit: unit} }

var (
	near = field{at: 12, bits: 9, signed: true}
	pair = field{at: 15, bits: 7, unit: 16, signed: true}
	lane = field{at: 19, bits: 2}
)

// Immediates: left and right are shift distances for lanes of some bits. fraction is the number of fraction bits of a
// fixed-point number.
func left(bits int) field  { return field{at: 16, bits: 7, add: bits} }
func right(bits int) field { return field{at: 16, bits: 7, from: 2 * bits} }

var fraction = field{at: 16, bits: 7, from: 64}

// instruction has the text that an assembler reads, the word without operands, and the places of the operands.
type instruction struct {
	text   string
	word   uint32
	fields []field
}

// three is an instruction with three vectors, two one with two.
func three(name, lanes string, word uint32) instruction {
	return instruction{fmt.Sprintf("%s v%%d.%s, v%%d.%s, v%%d.%s", name, lanes, lanes, lanes), word, []field{d, n, m}}
}

func two(name, to, from string, word uint32) instruction {
	return instruction{fmt.Sprintf("%s v%%d.%s, v%%d.%s", name, to, from), word, []field{d, n}}
}

// shift is an instruction with two vectors and an immediate.
func shift(name, lanes string, word uint32, by field) instruction {
	return instruction{fmt.Sprintf("%s v%%d.%s, v%%d.%s, #%%d", name, lanes, lanes), word, []field{d, n, by}}
}

// memory is a load or a store of a register. offset is the place of its offset: unsigned or near.
func memory(name, register string, word uint32, offset field) instruction {
	return instruction{name + " " + register + "%d, [x%d, #%d]", word, []field{d, n, offset}}
}

// instructions are all instructions of the loops that Go's assembler does not know, or knows under other names.
var instructions = map[string]instruction{
	"ldr q":  memory("ldr", "q", 0x3DC00000, unsigned(16)),
	"ldr d":  memory("ldr", "d", 0xFD400000, unsigned(8)),
	"ldr s":  memory("ldr", "s", 0xBD400000, unsigned(4)),
	"ldr h":  memory("ldr", "h", 0x7D400000, unsigned(2)),
	"str q":  memory("str", "q", 0x3D800000, unsigned(16)),
	"str s":  memory("str", "s", 0xBD000000, unsigned(4)),
	"ldur q": memory("ldur", "q", 0x3CC00000, near),
	"ldp q":  {"ldp q%d, q%d, [x%d, #%d]", 0xAD400000, []field{d, t2, n, pair}},
	"stp q":  {"stp q%d, q%d, [x%d, #%d]", 0xAD000000, []field{d, t2, n, pair}},

	"ld1r 4s":      {"ld1r {v%d.4s}, [x%d]", 0x4D40C800, []field{d, n}},
	"ld1r 4s next": {"ld1r {v%d.4s}, [x%d], #4", 0x4DDFC800, []field{d, n}},
	"ld1r 2d":      {"ld1r {v%d.2d}, [x%d]", 0x4D40CC00, []field{d, n}},

	"fadd 4s":  three("fadd", "4s", 0x4E20D400),
	"fsub 4s":  three("fsub", "4s", 0x4EA0D400),
	"fmul 4s":  three("fmul", "4s", 0x6E20DC00),
	"fmla 4s":  three("fmla", "4s", 0x4E20CC00),
	"fmls 4s":  three("fmls", "4s", 0x4EA0CC00),
	"fmax 4s":  three("fmax", "4s", 0x4E20F400),
	"fmin 4s":  three("fmin", "4s", 0x4EA0F400),
	"faddp 4s": three("faddp", "4s", 0x6E20D400),
	"fabs 4s":  two("fabs", "4s", "4s", 0x4EA0F800),
	"fneg 4s":  two("fneg", "4s", "4s", 0x6EA0F800),
	"fmaxv s":  {"fmaxv s%d, v%d.4s", 0x6E30F800, []field{d, n}},
	"faddp s":  {"faddp s%d, v%d.2s", 0x7E30D800, []field{d, n}},
	"fmul s":   {"fmul s%d, s%d, s%d", 0x1E200800, []field{d, n, m}},
	"fdiv s":   {"fdiv s%d, s%d, s%d", 0x1E201800, []field{d, n, m}},
	"fmul by":  {"fmul v%d.4s, v%d.4s, v%d.s[0]", 0x4F809000, []field{d, n, m}},
	"fmla by":  {"fmla v%d.4s, v%d.4s, v%d.s[0]", 0x4F801000, []field{d, n, m}},

	"scvtf 4s":  two("scvtf", "4s", "4s", 0x4E21D800),
	"scvtf fix": shift("scvtf", "4s", 0x4F00E400, fraction),
	"scvtf s":   {"scvtf s%d, s%d", 0x5E21D800, []field{d, n}},
	"scvtf sw":  {"scvtf s%d, w%d", 0x1E220000, []field{d, n}},
	"fcvtns 4s": two("fcvtns", "4s", "4s", 0x4E21A800),
	"fcvtl 4s":  two("fcvtl", "4s", "4h", 0x0E217800),
	"fcvtl2 4s": two("fcvtl2", "4s", "8h", 0x4E217800),
	"fcvtn 4h":  two("fcvtn", "4h", "4s", 0x0E216800),
	"fcvtn2 8h": two("fcvtn2", "8h", "4s", 0x4E216800),
	"fcvt sh":   {"fcvt s%d, h%d", 0x1EE24000, []field{d, n}},
	"fmov sw":   {"fmov s%d, w%d", 0x1E270000, []field{d, n}},

	"and": three("and", "16b", 0x4E201C00),
	"orr": three("orr", "16b", 0x4EA01C00),
	"eor": three("eor", "16b", 0x6E201C00),
	"bsl": three("bsl", "16b", 0x6E601C00),
	"bit": three("bit", "16b", 0x6EA01C00),
	"mov": {"mov v%d.16b, v%d.16b", 0x4EA01C00, []field{d, nn}},

	"zero":       {"movi v%d.2d, #0000000000000000", 0x6F00E400, []field{d}},
	"add 16b":    three("add", "16b", 0x4E208400),
	"sub 16b":    three("sub", "16b", 0x6E208400),
	"mul 16b":    three("mul", "16b", 0x4E209C00),
	"cmtst 16b":  three("cmtst", "16b", 0x4E208C00),
	"cmhs 16b":   three("cmhs", "16b", 0x6E203C00),
	"ushl 16b":   three("ushl", "16b", 0x6E204400),
	"add 4s":     three("add", "4s", 0x4EA08400),
	"sub 4s":     three("sub", "4s", 0x6EA08400),
	"mul 4s":     three("mul", "4s", 0x4EA09C00),
	"mla 4s":     three("mla", "4s", 0x4EA09400),
	"addp 4s":    three("addp", "4s", 0x4EA0BC00),
	"cmtst 4s":   three("cmtst", "4s", 0x4EA08C00),
	"ushl 4s":    three("ushl", "4s", 0x6EA04400),
	"ushr 16b":   shift("ushr", "16b", 0x6F000400, right(8)),
	"sshr 4s":    shift("sshr", "4s", 0x4F000400, right(32)),
	"shl 16b":    shift("shl", "16b", 0x4F005400, left(8)),
	"shl 4s":     shift("shl", "4s", 0x4F005400, left(32)),
	"addv s":     {"addv s%d, v%d.4s", 0x4EB1B800, []field{d, n}},
	"saddlp 8h":  two("saddlp", "8h", "16b", 0x4E202800),
	"saddlp 4s":  two("saddlp", "4s", "8h", 0x4E602800),
	"sqxtn 4h":   two("sqxtn", "4h", "4s", 0x0E614800),
	"sqxtn2 8h":  two("sqxtn2", "8h", "4s", 0x4E614800),
	"sqxtn 8b":   two("sqxtn", "8b", "8h", 0x0E214800),
	"sqxtn2 16b": two("sqxtn2", "16b", "8h", 0x4E214800),
	"sxtl 8h":    two("sxtl", "8h", "8b", 0x0F08A400),
	"sxtl2 8h":   two("sxtl2", "8h", "16b", 0x4F08A400),
	"sxtl 4s":    two("sxtl", "4s", "4h", 0x0F10A400),
	"sxtl2 4s":   two("sxtl2", "4s", "8h", 0x4F10A400),
	"shll 4s":    {"shll v%d.4s, v%d.4h, #16", 0x2E613800, []field{d, n}},
	"tbl":        {"tbl v%d.16b, {v%d.16b}, v%d.16b", 0x4E000000, []field{d, n, m}},
	"dup 4s":     {"dup v%d.4s, v%d.s[%d]", 0x4E040400, []field{d, n, lane}},
	"dup 4sw":    {"dup v%d.4s, w%d", 0x4E040C00, []field{d, n}},
	"zip1 2d":    three("zip1", "2d", 0x4EC03800),
	"zip2 2d":    three("zip2", "2d", 0x4EC07800),
	"zip1 4s":    three("zip1", "4s", 0x4E803800),
	"sdot":       {"sdot v%d.4s, v%d.16b, v%d.16b", 0x4E809400, []field{d, n, m}},
	"smmla":      {"smmla v%d.4s, v%d.16b, v%d.16b", 0x4E80A400, []field{d, n, m}},
}

// encode returns the word of an instruction and its text.
func encode(name string, operands ...int) (uint32, string) {
	i, ok := instructions[name]
	if !ok || len(operands) != len(i.fields) {
		panic(fmt.Sprintf("neon: no instruction %q of %d operands", name, len(operands)))
	}
	word, args := i.word, make([]any, len(operands))
	for k, f := range i.fields {
		v := operands[k]
		args[k] = v
		switch {
		case f.unit > 0 && v%f.unit == 0:
			v /= f.unit
		case f.unit > 0:
			panic(fmt.Sprintf("neon: %s: operand %d is no multiple of %d", name, v, f.unit))
		case f.from > 0:
			v = f.from - v
		}
		v += f.add
		first, end := 0, 1<<f.bits
		if f.signed {
			first, end = -end/2, end/2
		}
		if v < first || v >= end {
			panic(fmt.Sprintf("neon: %s: operand %d is out of range", name, operands[k]))
		}
		bits := uint32(v) & (1<<f.bits - 1)
		word |= bits << f.at
		if f.twin > 0 {
			word |= bits << f.twin
		}
	}
	return word, fmt.Sprintf(i.text, args...)
}
