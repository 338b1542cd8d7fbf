package main

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"mla/runtime/device"
	"mla/runtime/device/cpu"
	"mla/runtime/quant"
)

// floatsData is the data of a tensor of type F32.
func floatsData(list ...float32) (data []byte) {
	for _, x := range list {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// TestScales: NVFP4 weights are multiplied by the scales that a file has beside them, of tensors and of experts, and the
// scales that activations would have change nothing.
func TestScales(t *testing.T) {
	path, ref := lowBitsFile(t, quant.NVFP4Scaled)
	m := loadModel(t, path)
	scales := 0
	for _, x := range m.tensors {
		if base, ok := strings.CutSuffix(x.Name, ".scale"); ok {
			scales++
			m.add(base+".input_scale", quant.F32, x.Dims, floatsData(make([]float32, x.Dims[0])...))
		}
	}
	if scales < 16 {
		t.Fatalf("%d tensors have scales", scales)
	}
	compareWidths(t, cpu.New(), compileFor(t, m.write(t), "f32", 1, 3), ref, []int{1, 3}, familyTolerance)
	// Of another scale the logits are others: the reference sees the scales, too.
	_, data := m.remove("blk.1.ffn_down_exps.scale")
	doubled := make([]float32, len(data)/4)
	for i := range doubled {
		doubled[i] = 2
	}
	m.add("blk.1.ffn_down_exps.scale", quant.F32, []uint64{uint64(len(doubled))}, floatsData(doubled...))
	worst, err := ref.Batches(cpu.New(), compileFor(t, m.write(t), "f32", 1, 3), device.Config{KV: quant.F32, Threads: 2}, 1)
	if err != nil || worst < 0.01 {
		t.Errorf("other scales change logits by %g, %v", worst, err)
	}
}

// TestOddScales checks the message about a tensor that is not a scale of an NVFP4 weight.
func TestOddScales(t *testing.T) {
	path, _ := lowBitsFile(t, quant.NVFP4Scaled)
	const experts, output = "blk.1.ffn_down_exps.scale", "blk.1.attn_output.scale"
	for want, change := range map[string]func(m *modelFile){
		`"blk.1.ffn_down_exps.scale" is f32 with dimensions [1]; expected f32 with 6`: func(m *modelFile) {
			m.remove(experts)
			m.add(experts, quant.F32, []uint64{1}, floatsData(1))
		},
		`"blk.1.attn_output.scale" is f16 with dimensions [1]; expected f32 with 1`: func(m *modelFile) {
			m.remove(output)
			m.add(output, quant.F16, []uint64{1}, []byte{0, 0x3c})
		},
		`"blk.1.attn_kv_a_norm.scale" is no weight`: func(m *modelFile) { m.add("blk.1.attn_kv_a_norm.scale", quant.F32, []uint64{1}, floatsData(1)) },
		`"output.scales" is no weight`:              func(m *modelFile) { m.add("output.scales", quant.F32, []uint64{1}, floatsData(1)) },
		`"blk.1.none.scale" is no weight`:           func(m *modelFile) { m.add("blk.1.none.scale", quant.F32, []uint64{1}, floatsData(1)) },
	} {
		m := loadModel(t, path)
		change(m)
		if code, out, errs := mlagen("-gguf", m.write(t), "-o", t.TempDir()+"/x.mla"); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%d %s %s; want %q", code, out, errs, want)
		}
	}
}
