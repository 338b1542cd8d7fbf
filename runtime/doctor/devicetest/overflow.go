package devicetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"mla/runtime/gguf"
	"mla/runtime/quant"
)

// OverflowPrompt is a prompt after which the model of Overflow generates OverflowToken as its sixth token,
// and then others.
var OverflowPrompt = []int32{3, 40, 200, 17}

// OverflowToken is the token whose embedding exceeds the range of halves in the file of Overflow.
const OverflowToken = 407

// Overflow writes a model file into a folder, and returns the file's path. There are bundles with halves and
// with floats for it, and the embedding of OverflowToken exceeds the range of halves. root is the folder of
// the project.
func Overflow(root, folder string) (string, error) {
	f, err := gguf.Open(filepath.Join(root, "testdata/reference/dsv2lite-mini-Q4_K_M.gguf"))
	if err != nil {
		return "", err
	}
	embed, ok := f.Tensor("token_embd.weight")
	if !ok || embed.Type != quant.Q4_K {
		return "", errors.Join(errors.New("no embedding in Q4_K"), f.Close())
	}
	const block, numbers = 144, 256
	data, row := bytes.Clone(f.Shards[embed.Shard].Data), int(embed.Dims[0])/numbers*block
	first := int(embed.Offset) + OverflowToken*row
	for at := first; at < first+row; at += block {
		binary.LittleEndian.PutUint16(data[at:], 0x6000) // the row's scale becomes 512; floats of several rows reach 2^20
	}
	path := filepath.Join(folder, "large.gguf")
	return path, errors.Join(f.Close(), os.WriteFile(path, data, 0o600))
}
