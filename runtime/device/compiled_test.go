package device_test

import (
	"testing"

	"mla/runtime/device"
)

func TestCompilation(t *testing.T) {
	for want, c := range map[string]device.Compilation{
		"3 of 9 kernels from /x.metallib":                                                {Kernels: 3, AllKernels: 9, From: "/x.metallib"},
		"3 of 9 kernels from PTX, 10 of 80 bytes":                                        {Kernels: 3, AllKernels: 9, From: "PTX", Bytes: 10, AllBytes: 80},
		"3 of 9 kernels from Metal source, 10 of 80 bytes (12.5 % with what is inlined)": {Kernels: 3, AllKernels: 9, From: "Metal source", Bytes: 10, AllBytes: 80, Inlined: 20, AllInlined: 160},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q; expected %q", got, want)
		}
	}
}
