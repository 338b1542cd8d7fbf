package pass

import (
	"fmt"

	"mla/gen/ir"
)

// expandHeads keeps the keys and values of the paper where a program has so many rows that
// making them costs less than it saves: target.Target.Expands says from how many on, and why. What all
// layers expand is in one memory, as long as the cache: keys and values are made side by side.
func expandHeads(p *ir.Program) error {
	p.Expanded = p.NewValue("heads", -1, 0)
	var launches []*ir.Launch
	var heads *ir.Launch // of the layer, while its keys and values are gathered
	for _, s := range p.Launches {
		op := s.Parts[0].Ops[0]
		if op.Kind != ir.Expand {
			heads = nil
			launches = append(launches, s)
			continue
		}
		for _, v := range op.Out {
			v.Class, v.Elem = ir.Heads, ir.Half
		}
		if heads == nil {
			heads = s
			launches = append(launches, s)
			continue
		}
		if heads.Layer != s.Layer || len(heads.Parts) > 1 {
			return fmt.Errorf("layer %d: keys and values do not follow each other", s.Layer)
		}
		heads.Parts = append(heads.Parts, s.Parts...)
	}
	p.Launches = launches
	return nil
}
