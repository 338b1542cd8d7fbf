package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// halves is the line before a source that makes activations halves.
const halves = "#define MLA_ACT half\n"

// Metal is the bundle's Metal source. All bundles of a spec for one class of devices share one Source. It has
// the kernels of the model and of its MTP layer, if there is one; MLA_ACT is the type of activations.
func (b *Bundle) Metal() string {
	if b.Activations == ElemF16 {
		return halves + b.Source
	}
	return b.Source
}

// SourceSum is the sha256 of the bundle's Metal source, hexadecimal. Compiled kernels are named by it. A
// bundle may have it in place of the source.
func (b *Bundle) SourceSum() string {
	if b.Source == "" && b.SourceHash != "" {
		return b.SourceHash
	}
	sum := sha256.Sum256([]byte(b.Metal()))
	return hex.EncodeToString(sum[:])
}

// HasSource returns an error that says why the bundle has no Metal source; nil: it has one.
func (b *Bundle) HasSource() error {
	if b.Source != "" || b.SourceHash == "" {
		return nil
	}
	return fmt.Errorf("bundle %s has no Metal source: devices of class %s, which it is for, run what was compiled of it", b.Name, b.Class)
}
