package gguf

import (
	"testing"

	"mla/runtime/quant"
)

// FuzzParse checks that any bytes give an error or a file that is safe to use.
func FuzzParse(f *testing.F) {
	f.Add(smallFile(f))
	f.Add(deepseekFile(f))
	for _, m := range malformed {
		if len(m.data) < 1<<16 {
			f.Add(m.data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz", data)
		if err != nil {
			return
		}
		for _, kv := range file.Meta {
			useValue(t, file, kv)
		}
		for i := range file.Tensors {
			useTensor(t, file, &file.Tensors[i])
		}
		if h, err := ReadHParams(file); err == nil && (h.NumHiddenLayers < 1 || h.QKNopeHeadDim < 1 || h.VocabSize < 1) {
			t.Errorf("hyper-parameters out of range: %+v", h)
		}
		if _, err := file.splitPart(); err != nil {
			return
		}
	})
}

// useValue calls every getter: they may fail, but not panic.
func useValue(t *testing.T, f *File, kv KV) {
	_ = kv.Value.String()
	f.Uint(kv.Key)
	f.Float(kv.Key)
	f.Bool(kv.Key)
	f.String(kv.Key)
	f.Ints(kv.Key)
	f.Floats(kv.Key)
	if list, _, err := f.Strings(kv.Key); err == nil && len(list) != kv.Value.Len() {
		t.Errorf("key %q: %d strings of %d", kv.Key, len(list), kv.Value.Len())
	}
}

func useTensor(t *testing.T, f *File, x *Tensor) {
	if _, known := quant.Lookup(x.Type); known != (x.Data != nil) || known && uint64(len(x.Data)) != x.Size {
		t.Errorf("tensor %q: type %v, size %d, %d bytes of data", x.Name, x.Type, x.Size, len(x.Data))
	}
	if end := uint64(len(f.Shards[x.Shard].Data)); x.Offset > end || x.Size > end-x.Offset || x.Elems() == 0 {
		t.Errorf("tensor %q: offset %d, size %d in a file of %d bytes", x.Name, x.Offset, x.Size, end)
	}
}
