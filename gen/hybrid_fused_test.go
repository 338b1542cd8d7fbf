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

// fuseLinear joins the first so many of queries, keys and values of each layer that has all.
func fuseLinear(t *testing.T, path string, n int) string {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var infos []gguf.TensorInfo
	data := map[string][]byte{}
	for _, tensor := range f.Tensors {
		info, bytes := gguf.TensorInfo{Name: tensor.Name, Type: tensor.Type, Dims: slices.Clone(tensor.Dims)}, tensor.Data
		before, is := strings.CutSuffix(tensor.Name, ".attn_q.weight")
		if _, linear := f.Tensor(before + ".attn_k.weight"); is && linear {
			bytes = nil
			for _, name := range []string{".attn_q.weight", ".attn_k.weight", ".attn_v.weight"}[:n] {
				of, _ := f.Tensor(before + name)
				bytes = append(bytes, of.Data...)
			}
			info.Name, info.Dims[1] = before+".attn_qkv.weight", uint64(n)*info.Dims[1]
		} else if strings.Contains(tensor.Name, ".attn_k.") || strings.Contains(tensor.Name, ".attn_v.") {
			continue
		}
		infos, data[info.Name] = append(infos, info), bytes
	}
	out := filepath.Join(t.TempDir(), "fused.gguf")
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
