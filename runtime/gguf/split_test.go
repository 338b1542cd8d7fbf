package gguf

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// splitKeys are the keys of one shard, as gguf-split writes them.
func splitKeys(no, count, tensors int) []KV {
	return []KV{
		{splitNoKey, Uint16(uint16(no))},
		{splitCountKey, Uint16(uint16(count))},
		{splitTensorsKey, Int32(int32(tensors))},
	}
}

// writeShards writes smallTensors over three shards, the first with all the
// metadata, and returns the paths.
func writeShards(t *testing.T) []string {
	t.Helper()
	dir, all := t.TempDir(), smallTensors()
	parts := [][]TensorInfo{all[:1], all[1:3], all[3:]}
	paths := make([]string, len(parts))
	for i, tensors := range parts {
		meta := splitKeys(i, len(parts), len(all))
		if i == 0 {
			meta = append(everyKind(), meta...)
		}
		paths[i] = writeFile(t, filepath.Join(dir, fmt.Sprintf("m-%05d-of-00003.gguf", i+1)), meta, tensors)
	}
	return paths
}

func TestSplit(t *testing.T) {
	paths := writeShards(t)
	for _, path := range paths {
		f := open(t, path)
		if f.Path != path || len(f.Shards) != 3 {
			t.Errorf("path %s, %d shards", f.Path, len(f.Shards))
		}
		checkRoundTrip(t, f, append(everyKind(), splitKeys(0, 3, 4)...))
		for i, want := range []int{0, 1, 1, 2} {
			if x := f.Tensors[i]; x.Shard != want || &f.Shards[want].Data[x.Offset] != &x.Data[0] {
				t.Errorf("tensor %q: shard %d, offset %d", x.Name, x.Shard, x.Offset)
			}
		}
		if x, ok := f.Tensor("last.weight"); !ok || x.Shard != 2 {
			t.Errorf("last.weight: %v, %v", x, ok)
		}
	}
}

func TestSplitErrors(t *testing.T) {
	all := smallTensors()
	rewrite := func(meta []KV, tensors ...TensorInfo) func(*testing.T, []string) string {
		return func(t *testing.T, paths []string) string {
			writeFile(t, paths[1], meta, tensors)
			return paths[0]
		}
	}
	tests := []struct {
		name  string
		spoil func(t *testing.T, paths []string) (open string)
		want  []string
	}{
		{"missing shard", func(t *testing.T, paths []string) string {
			if err := os.Remove(paths[1]); err != nil {
				t.Fatal(err)
			}
			return paths[2]
		}, []string{"shard 2 of 3", "m-00002-of-00003.gguf", "no such file"}},
		{"renamed", func(t *testing.T, paths []string) string {
			path := filepath.Join(filepath.Dir(paths[0]), "model.gguf")
			if err := os.Rename(paths[0], path); err != nil {
				t.Fatal(err)
			}
			return path
		}, []string{"model.gguf", "shard 1 of 3", "-00001-of-00003.gguf"}},
		{"named as another shard", func(t *testing.T, paths []string) string {
			if err := os.Rename(paths[1], paths[0]); err != nil {
				t.Fatal(err)
			}
			return paths[0]
		}, []string{"shard 2 of 3", "-00002-of-00003.gguf"}},
		{"wrong number", rewrite(splitKeys(2, 3, 4), all[1], all[2]), []string{"shard 2 of 3", "m-00002", splitNoKey, "are 2 and 3; expected 1 and 3"}},
		{"whole file", rewrite(nil, all[1], all[2]), []string{"shard 2 of 3", splitCountKey, "expected 1 and 3"}},
		{"malformed shard", func(t *testing.T, paths []string) string {
			if err := os.WriteFile(paths[2], []byte("GGUF"), 0o600); err != nil {
				t.Fatal(err)
			}
			return paths[0]
		}, []string{"shard 3 of 3", "m-00003-of-00003.gguf", "version"}},
		{"tensor twice", rewrite(splitKeys(1, 3, 4), all[0]), []string{`tensor "norm.weight"`, "m-00001", "m-00002"}},
		{"tensor missing", rewrite(splitKeys(1, 3, 4), all[1]), []string{splitTensorsKey, "is 4", "have 3 tensors"}},
		{"of another split", rewrite(splitKeys(1, 3, 5), all[1], all[2]), []string{splitTensorsKey, "is 5, but 4 in", "parts of different files"}},
		{"no number", rewrite(splitKeys(1, 3, 4)[1:]), []string{splitNoKey, "missing"}},
		{"number too large", rewrite(splitKeys(3, 3, 4)), []string{splitNoKey, "is 3; expected less than"}},
		{"count too large", rewrite([]KV{{splitCountKey, Uint32(100000)}}), []string{splitCountKey, "is 100000"}},
		{"count is text", rewrite([]KV{{splitCountKey, String("3")}}), []string{splitCountKey, "is string"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.spoil(t, writeShards(t)))
			wantError(t, err, tt.want...)
		})
	}
}

func TestStem(t *testing.T) {
	for path, want := range map[string]string{
		"/m/a.gguf": "/m/a", "a-00001-of-00002.gguf": "a", "m.v1/a-00001-of-2.gguf": "m.v1/a-00001-of-2", "a.bin": "a.bin", "": "",
	} {
		if got := Stem(path); got != want {
			t.Errorf("%q of %q; want %q", got, path, want)
		}
	}
}
