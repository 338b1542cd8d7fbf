package plan

// halves makes the activations of a source halves.
const halves = "#define MLA_ACT half\n"

// Metal is the bundle's Metal source. Bundles that differ in their activations alone have
// one Source, in which MLA_ACT is their type.
func (b *Bundle) Metal() string {
	if b.Activations == ElemF16 {
		return halves + b.Source
	}
	return b.Source
}
