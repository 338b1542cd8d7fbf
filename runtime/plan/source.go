package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// halves makes the activations of a source halves.
const halves = "#define MLA_ACT half\n"

// Metal is the bundle's Metal source. All bundles of a spec for one class of devices have one
// Source: with the kernels of the model and of its layer that predicts, if it has one, and
// MLA_ACT as the type of activations.
func (b *Bundle) Metal() string {
	if b.Activations == ElemF16 {
		return halves + b.Source
	}
	return b.Source
}

// SourceSum is the sha256 of the bundle's Metal source, hexadecimal: what is compiled of it
// bears it. A bundle may have it in place of the source.
func (b *Bundle) SourceSum() string {
	if b.Source == "" && b.SourceHash != "" {
		return b.SourceHash
	}
	sum := sha256.Sum256([]byte(b.Metal()))
	return hex.EncodeToString(sum[:])
}

// HasSource says why the bundle has no Metal source; nil: it has.
func (b *Bundle) HasSource() error {
	if b.Source != "" || b.SourceHash == "" {
		return nil
	}
	return fmt.Errorf("bundle %s has no Metal source: devices of class %s, which it is for, run what was compiled of it", b.Name, b.Class)
}
