package device

import (
	"slices"
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

// TestWanted checks which indices CheckWanted accepts: rising ones, all rows of a batch or a few of a prompt. It also
// checks that Wanted returns these rows with their places.
func TestWanted(t *testing.T) {
	many := make([]int, plan.LargestBatch+1)
	for i := range many {
		many[i] = i
	}
	for _, tt := range []struct {
		wanted []int
		rows   int
		batch  int
		ok     bool
	}{{nil, 1, 16, true}, {[]int{0}, 1, 16, true}, {[]int{2, 5}, 6, 16, true}, {[]int{2, 6}, 6, 16, false}, {[]int{-1}, 6, 16, false}, {[]int{3, 3}, 6, 16, false}, {[]int{4, 3}, 6, 16, false},
		{many[:16], 17, 16, true}, {many[:17], 17, 16, false}, {many[:17], 17, 32, true}, {many[:32], 32, 32, true}, {many, 33, 32, false}, {many[:16], 33, 32, true}, {many[:17], 33, 32, false}} {
		if err := CheckWanted(tt.wanted, tt.rows, tt.batch); (err == nil) != tt.ok {
			t.Errorf("%d of %d rows: error %v", tt.wanted, tt.rows, err)
		}
	}
	rows := []plan.Row{{Token: 7, NKV: 1}, {Token: 8, NKV: 2}, {Token: 9, NKV: 3, Table: 4}}
	want := []plan.Row{{Token: 0, NKV: 1}, {Token: 2, NKV: 3, Table: 4}}
	if got := Wanted(nil, rows, []int{0, 2}); !slices.Equal(got, want) {
		t.Errorf("%+v; expected %+v", got, want)
	}
	if got := AllIf(true, 3); !slices.Equal(got, []int{0, 1, 2}) || AllIf(false, 3) != nil {
		t.Errorf("all of 3 rows: %d", got)
	}
}
