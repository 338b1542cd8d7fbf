package ir_test

import (
	"strings"
	"testing"

	"mla/gen/ir"
	"mla/gen/lower"
	"mla/gen/spectest"
)

// TestVerifyLinear breaks the ops of linear attention in every way that Verify checks.
func TestVerifyLinear(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(p *ir.Program)
		want   string
	}{
		{"nothing", func(*ir.Program) {}, ""},
		{"no state", func(p *ir.Program) { op(t, p, "delta_rule").State = nil }, "has no state"},
		{"another memory's", func(p *ir.Program) { op(t, p, "linear_q_conv").State.Class = ir.Act }, "has no state"},
		{"a state too many", func(p *ir.Program) { op(t, p, "linear_q_silu").State = op(t, p, "delta_rule").State }, "its kind keeps none"},
		{"a small state", func(p *ir.Program) { op(t, p, "delta_rule").State.Len-- }, "the state is "},
		{"a small window", func(p *ir.Program) { op(t, p, "linear_k_conv").State.Len-- }, "the state is "},
		{"a short value", func(p *ir.Program) { op(t, p, "delta_rule").In[2].Len-- }, "a value is "},
		{"a long beta", func(p *ir.Program) { in := op(t, p, "delta_rule").In; in[4] = in[3] }, "a beta is "},
		{"another bias", func(p *ir.Program) { d := op(t, p, "linear_decay"); d.W[1] = op(t, p, "linear_o_norm").W[0] }, "the bias is "},
		{"another A", func(p *ir.Program) { d := op(t, p, "linear_decay"); d.W[0] = d.W[1] }, "A is 1, want "},
		{"too many heads", func(p *ir.Program) { op(t, p, "linear_q_norm").Heads++ }, "lies outside its value"},
		{"a norm's gate", func(p *ir.Program) { op(t, p, "linear_o_norm").In[1].Len-- }, "the gate is "},
	} {
		s := spectest.Hybrid(0)
		s.Model.NumAttentionHeads = 2
		p := lower.Lower(s, 1)
		tt.damage(p)
		err := ir.Verify(p)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}
