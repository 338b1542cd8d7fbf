package opening

import (
	"fmt"
	"path/filepath"

	"mla/runtime/device"
	"mla/runtime/device/metal/trust"
	"mla/runtime/engine"
	"mla/runtime/load/bind"
	"mla/runtime/load/bundles"
	"mla/runtime/plan"
)

// By default a GPU's activations are halves: they take half the bytes, and their products take half to a
// third of the time. If a file's activations exceed the range of halves, the model continues with floats, and
// the file is remembered.

// goesOn is the message that the user gets once.
func (m *model) goesOn() string {
	line := "an activation has left the range of halves (f16); the model goes on with f32"
	if m.Cache != "" {
		line += ", and will from now on; -act f16 tries halves again"
	}
	return line
}

// prefers is the default type of activations on a device; "": floats.
func (m *model) prefers(d device.Device) string {
	if m.Act != "" || m.Exact || d.Class() == "" || m.overflows() {
		return ""
	}
	return plan.ActNames[plan.ElemF16]
}

// optional says whether a bundle was chosen for its halves by default.
func (m *model) optional(b *plan.Bundle) bool {
	return b.Activations == plan.ElemF16 && m.Act == "" && (m.Bundle == "" || bundles.IsFile(m.Bundle))
}

// explain tells users who want details why a GPU runs without halves.
func (m *model) explain(b *plan.Bundle, d device.Device) {
	if m.Detail == nil || b.Activations == plan.ElemF16 || d.Class() == "" || m.Act != "" || m.Exact || m.Bundle == b.Name {
		return
	}
	why := fmt.Sprintf("bundle %s has no kernels with f16 activations, so they are f32", b.Name)
	if m.overflows() {
		why = "activations of this file have left the range of halves before, so they are f32; -act f16 tries halves again"
	}
	m.Detail(why)
}

// widens tells an engine with halves how to continue with floats.
func (m *model) widens(e *engine.Engine, c *Candidate, d device.Device) {
	if e.Bundle().Activations != plan.ElemF16 {
		return
	}
	e.Widens(engine.Wider{
		Open: func() (*engine.Engine, error) {
			wish := bind.Wish{Act: plan.ActNames[plan.ElemF32], Class: d.Class()}
			if bundles.IsFile(m.Bundle) {
				wish.Bundle = m.Bundle
			}
			b, err := m.choose(wish)
			if err == nil && c.Lacks != nil {
				err = c.Lacks(b)
			}
			if err != nil {
				return nil, err
			}
			return m.engine(c, d, b)
		},
		Begin: func() { m.say(m.goesOn()) },
		Done:  m.keep,
	})
}

func (m *model) say(line string) {
	if m.Say != nil {
		m.Say(line)
	}
}

// halves is the kind of verdict about a file whose activations exceed the range of halves.
const halves trust.Kind = "halves"

// key identifies the file by its path, size and time of change.
func (m *model) key() trust.Key {
	return trust.Key{Model: trust.File(filepath.Clean(m.resolved.File.Path))}
}

// overflows says whether the file is known to exceed the range of halves.
func (m *model) overflows() bool {
	if m.Cache == "" {
		return false
	}
	v, kept := trust.Kept(m.Cache, halves, m.key())
	return kept && !v.OK
}

// keep records that it does. If that fails, the next run finds out again.
func (m *model) keep() {
	if m.Cache != "" {
		_ = trust.Keep(m.Cache, halves, m.key(), trust.Verdict{Why: "activations left the range of halves"})
	}
}
