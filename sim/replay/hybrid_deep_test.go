//go:build deep

package replay_test

func init() {
	for _, name := range []string{"bailingmoe3-mini-Q4_K_M", "kimi-linear-mini-Q4_0"} {
		for _, widths := range [][]int{{1}, {1, 3}, {1, 16}, {1, 16, 512}} {
			hybridRuns = append(hybridRuns, hybridRun{name, widths, widths[len(widths)-1], "f32"})
		}
		hybridRuns = append(hybridRuns, hybridRun{name, []int{1, 16, 24}, 23, "f16"})
	}
}
