package device

import (
	"strings"
	"testing"

	"mla/runtime/plan"
)

func TestCheckRow(t *testing.T) {
	for _, tt := range []struct {
		step plan.Row
		want string
	}{
		{plan.Row{Token: 9, Pos: 0, NKV: 1}, ""},
		{plan.Row{Token: 0, Pos: 63, NKV: 64}, ""},
		{plan.Row{Token: 10, Pos: 0, NKV: 1}, "token 10 of a vocabulary of 10"},
		{plan.Row{Token: 0xffffffff, Pos: 0, NKV: 1}, "token 4294967295 of"},
		{plan.Row{Pos: 64, NKV: 65}, "position 64 does not fit a context of 64 tokens"},
		{plan.Row{Pos: 0xffffffff, NKV: 0}, "position 4294967295 does not fit"},
		{plan.Row{Pos: 5, NKV: 5}, "5 cache rows at position 5; expected 6"},
		{plan.Row{Pos: 5, NKV: 7}, "7 cache rows at position 5; expected 6"},
	} {
		err := CheckRow(tt.step, 10, 64)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v; want %q", tt.step, err, tt.want)
		}
	}
}
