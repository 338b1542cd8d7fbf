package scheduler

import (
	"testing"

	"mla/runtime/plan"
)

func TestSizes(t *testing.T) {
	if got := MostRows(sizes - 1); got != plan.MaxWidth {
		t.Errorf("the greatest step counted has %d rows; sequences have up to %d", got, plan.MaxWidth)
	}
	var s Steps
	for _, n := range []int{1, 2, 3, 4, 5, 16, 17, plan.MaxWidth} {
		tasks := make([]*task, n)
		for i := range tasks {
			tasks[i] = &task{}
		}
		s.begin(tasks)
	}
	if want := (Steps{Prompt: 4144, Rows: [sizes]uint64{1, 1, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1}}); s != want {
		t.Errorf("%+v; expected %+v", s, want)
	}
}
