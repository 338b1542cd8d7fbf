package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// testPackages returns the packages that have tests in the tier that o selects, with the folder of each.
func testPackages(o options) (map[string]string, error) {
	args := append([]string{"list"}, o.tags()...)
	args = append(args, "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}")
	cmd := exec.Command("go", append(args, o.packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if p, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			dirs[p] = dir
		}
	}
	if len(dirs) == 0 {
		return nil, errors.New("no package has a test")
	}
	return dirs, nil
}

func (o options) tags() []string {
	if o.deep {
		return []string{"-tags", "deep"}
	}
	return nil
}

// linuxOnly are packages whose tests need Linux, with the reason. They use substitutes for Apple's and
// NVIDIA's software that are built as Linux libraries.
var linuxOnly = []struct{ prefix, why string }{
	{"mla/sim/", "the simulators of Metal and of NVIDIA's driver are Linux libraries; a Mac has Metal itself: make test-metal"},
	{"mla/runtime/device/metal", "its tests run on the simulator of Metal; on a Mac: make test-metal"},
	{"mla/runtime/device/cuda", "there is no NVIDIA driver; its tests run on the stand-in for it"},
	{"mla/gen/ptx", "PTX is compiled for Linux with NVIDIA GPUs"},
}

// runnable returns the packages that can be tested on a system, and a line of text for each group of packages
// that cannot.
func runnable(packages []string, system string) (can, elsewhere []string) {
	if system == "linux" {
		return packages, nil
	}
	cannot := map[string]int{}
	for _, p := range packages {
		i := slices.IndexFunc(linuxOnly, func(l struct{ prefix, why string }) bool {
			return strings.HasPrefix(p+"/", strings.TrimSuffix(l.prefix, "/")+"/")
		})
		if i < 0 {
			can = append(can, p)
			continue
		}
		cannot[linuxOnly[i].prefix]++
	}
	for _, l := range linuxOnly {
		if n := cannot[l.prefix]; n > 0 {
			elsewhere = append(elsewhere, fmt.Sprintf("%s (%d packages): %s", l.prefix, n, l.why))
		}
	}
	return can, elsewhere
}

// order sorts packages by falling recorded time, so that no core is idle at the end. A package without a
// recorded time counts as slow.
func order(packages []string, times map[string]float64) {
	slices.SortStableFunc(packages, func(a, b string) int {
		return cmp.Or(-cmp.Compare(expected(times, a), expected(times, b)), strings.Compare(a, b))
	})
}

// unknown is the number of seconds assumed for a package without a recorded time.
const unknown = 10

func expected(times map[string]float64, p string) float64 {
	if s, ok := times[p]; ok {
		return s
	}
	return unknown
}
