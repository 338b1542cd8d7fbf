package gen_test

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mla/gen/initspec"
	"mla/runtime/device/cpu"
	"mla/runtime/engine/opening"
	"mla/runtime/gguf"
	"mla/runtime/plan"
)

// TestFusedLinear: a file with queries, keys and values of linear attention in one tensor, as --fuse-qkv converts
// models, gives the logits of the file with three. One that has only some of the rows is refused.
func TestFusedLinear(t *testing.T) {
	stem := filepath.Join("..", "testdata", "hybrid", "kimi-linear-mini-Q4_0")
	path := fuseLinear(t, stem+".gguf", 3)
	e, err := opening.On(path, []*plan.Bundle{hybridFile(t, path)}, "", cpu.New())
	if err != nil {
		t.Fatal(err)
	}
	compareHybrid(t, e, stem, 1, 16)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	f, err := gguf.Open(fuseLinear(t, stem+".gguf", 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := initspec.Generate(f, "x.yaml"); err == nil || !strings.Contains(err.Error(), "attn_qkv") {
		t.Errorf("keys without values: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// fuseLinear joins n of queries, keys and values, in this order, in each layer that has all three.
func fuseLinear(t *testing.T, path string, n int) string {
	t.Helper()
	return rewritten(t, path, func(f *gguf.File, tensor *gguf.Tensor) *gguf.Tensor {
		before, is := strings.CutSuffix(tensor.Name, ".attn_q.weight")
		if _, linear := f.Tensor(before + ".attn_k.weight"); is && linear {
			tensor.Data = nil
			for _, name := range []string{".attn_q.weight", ".attn_k.weight", ".attn_v.weight"}[:n] {
				of, _ := f.Tensor(before + name)
				tensor.Data = append(tensor.Data, of.Data...)
			}
			tensor.Name, tensor.Dims[1] = before+".attn_qkv.weight", uint64(n)*tensor.Dims[1]
		} else if strings.Contains(tensor.Name, ".attn_k.") || strings.Contains(tensor.Name, ".attn_v.") {
			return nil
		}
		return tensor
	})
}

// TestTaps: a convolution with more taps, whose first ones are zeros, gives the logits of the file with four.
func TestTaps(t *testing.T) {
	stem := filepath.Join("..", "testdata", "hybrid", "bailingmoe3-mini-Q4_K_M")
	for _, taps := range []int{5, 16} {
		path := rewritten(t, stem+".gguf", func(f *gguf.File, tensor *gguf.Tensor) *gguf.Tensor {
			f.Set("bailingmoe3.ssm.conv_kernel", gguf.Uint32(uint32(taps)))
			if strings.Contains(tensor.Name, ".ssm_conv1d_") {
				var data []byte
				for row := range slices.Chunk(tensor.Data, 4*4) {
					data = append(append(data, make([]byte, 4*(taps-4))...), row...)
				}
				tensor.Dims[0], tensor.Data = uint64(taps), data
			}
			return tensor
		})
		e, err := opening.On(path, []*plan.Bundle{hybridFile(t, path)}, "", cpu.New())
		if err != nil {
			t.Fatal(err)
		}
		compareHybrid(t, e, stem, 1, 3)
		compareHybrid(t, e, stem+".long", 12, 16)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// rewritten is a file with tensors that edit makes of copies; nil: without that one. What edit sets in the metadata of f
// is in the file, too.
func rewritten(t *testing.T, path string, edit func(f *gguf.File, tensor *gguf.Tensor) *gguf.Tensor) string {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var infos []gguf.TensorInfo
	data := map[string][]byte{}
	for _, tensor := range f.Tensors {
		tensor.Dims = slices.Clone(tensor.Dims)
		if made := edit(f, &tensor); made != nil {
			infos, data[made.Name] = append(infos, gguf.TensorInfo{Name: made.Name, Type: made.Type, Dims: made.Dims}), made.Data
		}
	}
	out := filepath.Join(t.TempDir(), "rewritten.gguf")
	w, err := gguf.NewWriter(out, f.Meta, infos)
	for _, info := range infos {
		if err == nil {
			err = w.WriteTensor(info.Name, func(to io.Writer) error { _, err := to.Write(data[info.Name]); return err })
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}
