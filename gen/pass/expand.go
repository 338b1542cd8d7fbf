package pass

import (
	"fmt"

	"mla/gen/ir"
)

// expandHeads keeps expanded keys and values if a program has so many rows that expanding costs less than it
// saves; target.Target.Expands decides. All layers expand into the same memory, which is as long as the
// cache. Keys and values of a layer are made by one launch.
func expandHeads(p *ir.Program) error {
	p.Expanded = p.NewValue("heads", -1, 0)
	var launches []*ir.Launch
	var heads *ir.Launch // the launch of the layer's keys, until its values were added
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
