package execute

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"golang.org/x/sys/cpu"
)

// contractionOff is how printed sources keep products and sums apart.
const contractionOff = `#if __METAL_VERSION__ >= 320
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif
`

const needs32 = "#if __METAL_VERSION__ < 320\n#error \"3.2\"\n#endif\n"

// TestContraction: a product and a sum are fused, as Metal's compiler may do it, unless the
// pragma of the source's version forbids it.
func TestContraction(t *testing.T) {
	// x² = 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11.
	const x, minus = 1 + 0x1p-12, -(1 + 0x1p-11)
	fused := float32(0x1p-24)
	if runtime.GOARCH == "amd64" && !cpu.X86.HasFMA {
		fused = 0 // clang fuses only what the CPU does in one instruction
	}
	for _, c := range []struct {
		name, source string
		want         float32
	}{
		{"3.1, may be fused", "", fused},
		{"3.1, Metal's pragma is in the other branch", "#if __METAL_VERSION__ >= 320\n#pragma METAL fp contract(off)\n#endif\n", fused},
		{"3.2, clang's pragma is in the other branch", needs32 + "#if __METAL_VERSION__ < 320\n#pragma clang fp contract(off)\n#endif\n", fused},
		{"3.1, apart", contractionOff, 0},
		{"3.2, apart", needs32 + contractionOff, 0},
	} {
		p, err := Compile(c.source+kernel("if (tid == 0u && tg == 0u) a[2] = a[0] * a[0] + a[1];"), Fast)
		if err != nil {
			t.Fatal(err)
		}
		out, err := launch(t, p, func(l *Launch) {
			bytes := l.Args[0].Buffer.Bytes
			binary.LittleEndian.PutUint32(bytes, math.Float32bits(x))
			binary.LittleEndian.PutUint32(bytes[4:], math.Float32bits(minus))
		})
		if err != nil || out[2] != c.want {
			t.Errorf("%s: %v, %v; want %v", c.name, out[2], err, c.want)
		}
		p.Close()
	}
}
