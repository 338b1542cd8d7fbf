package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"os"

	"mla/runtime/gguf"
)

// ModelKey identifies the model, whatever the types of its weights: files with the same key have the same
// dimensions and number tokens alike.
func (e *Engine) ModelKey() (string, error) {
	model := e.bundle.Model
	model.Tokenizer, model.ChatTemplate = "", "" // names that specs may leave out
	text, err := json.Marshal(model)
	if err != nil {
		return "", err
	}
	k := newKey()
	k.add(text)
	tokens, _, err := e.resolved.File.Strings("tokenizer.ggml.tokens")
	if err != nil {
		return "", err
	}
	for _, t := range tokens {
		k.add([]byte(t))
	}
	return k.String(), nil
}

// sampleBytes is how much FileKey reads of the beginning, the middle and the end of a tensor.
const sampleBytes = 4096

// FileKey identifies the model file by its header, the time of its last change, and samples of all tensors.
// Reading all of the file would take longer than the key saves.
func (e *Engine) FileKey() (string, error) {
	k := newKey()
	err := gguf.Guard(func() error { return e.addFile(k) })
	if err != nil {
		return "", err
	}
	return k.String(), nil
}

func (e *Engine) addFile(k key) error {
	for i := range e.resolved.File.Shards {
		s := &e.resolved.File.Shards[i]
		info, err := os.Stat(s.Path)
		if err != nil {
			return err
		}
		k.number(uint64(len(s.Data)))
		k.number(uint64(info.ModTime().UnixNano()))
		k.add(s.Data[:headerBytes(e.resolved.File, i)])
	}
	for i := range e.resolved.File.Tensors {
		data := e.resolved.File.Tensors[i].Data
		for _, at := range []int{0, len(data) / 2, len(data) - sampleBytes} {
			at = max(at, 0)
			k.add(data[at:min(at+sampleBytes, len(data))])
		}
	}
	return nil
}

// headerBytes is the bytes before a shard's tensors.
func headerBytes(f *gguf.File, shard int) uint64 {
	n := uint64(len(f.Shards[shard].Data))
	for i := range f.Tensors {
		if t := &f.Tensors[i]; t.Shard == shard {
			n = min(n, t.Offset)
		}
	}
	return n
}

// key is a hash of byte strings with their lengths.
type key struct{ hash.Hash }

func newKey() key { return key{sha256.New()} }

func (k key) number(n uint64) { k.Write(binary.LittleEndian.AppendUint64(nil, n)) } // a hash never fails

func (k key) add(data []byte) {
	k.number(uint64(len(data)))
	k.Write(data)
}

func (k key) String() string { return hex.EncodeToString(k.Sum(nil)) }
