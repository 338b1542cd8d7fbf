//go:build deep

package replay_test

func init() {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		hybridRuns = append(hybridRuns, hybridRun{name, []int{1, 3, 16, 512}, []int{1, 3, 16, 512}, "f32"}, hybridRun{name, []int{1, 24}, []int{23}, "f16"})
	}
}
