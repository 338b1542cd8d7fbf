package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// progress follows the events of a run.
type progress struct {
	out     io.Writer
	times   map[string]float64 // recorded seconds by package
	left    map[string]bool    // packages that have not ended
	total   int
	ended   int
	tests   int
	failed  []string
	seconds map[string]float64 // seconds of the packages that have ended
	began   time.Time
	output  map[string][]string // output of the packages and tests that have not ended, by "package test"
	builds  map[string][]string // output of compilers, by import path
}

func newProgress(out io.Writer, packages []string, times map[string]float64) *progress {
	p := &progress{out: out, times: times, left: map[string]bool{}, total: len(packages), seconds: map[string]float64{}, began: time.Now(), output: map[string][]string{}, builds: map[string][]string{}}
	for _, name := range packages {
		p.left[name] = true
	}
	return p
}

// take handles an event. now is the time at which it came.
func (p *progress) take(e event, now time.Time) {
	switch e.Action {
	case "build-output":
		p.builds[e.ImportPath] = append(p.builds[e.ImportPath], e.Output)
	case "output":
		key := e.Package + " " + e.Test
		p.output[key] = append(p.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			p.endTest(e)
		} else {
			p.endPackage(e, now)
		}
	}
}

// endTest keeps the output of a failed test until its package ends. The output of a passed test is dropped.
func (p *progress) endTest(e event) {
	key, of := e.Package+" "+e.Test, e.Package+" "
	if e.Action == "fail" {
		p.output[of] = append(p.output[of], p.output[key]...)
	}
	delete(p.output, key)
	if !strings.Contains(e.Test, "/") {
		p.tests++
	}
}

func (p *progress) endPackage(e event, now time.Time) {
	p.ended++
	delete(p.left, e.Package)
	p.seconds[e.Package] = e.Elapsed
	word := "ok  "
	if e.Action == "fail" {
		word = "FAIL"
		p.failed = append(p.failed, e.Package)
		p.show(e)
	}
	fmt.Fprintf(p.out, "[%*d/%d] %s %-40s %6.1fs%s\n", len(fmt.Sprint(p.total)), p.ended, p.total, word, e.Package, e.Elapsed, p.leftText(now))
	maps.DeleteFunc(p.output, func(key string, _ []string) bool { return strings.HasPrefix(key, e.Package+" ") })
}

// show prints the output of a failed package: of the compiler, of the package, and of tests that did not end.
func (p *progress) show(e event) {
	for _, line := range p.builds[e.FailedBuild] {
		io.WriteString(p.out, line)
	}
	for _, key := range slices.Sorted(maps.Keys(p.output)) {
		if strings.HasPrefix(key, e.Package+" ") {
			io.WriteString(p.out, strings.Join(p.output[key], ""))
		}
	}
}

// leftText returns the estimated remaining time. It scales the recorded times by the speed of this machine so
// far.
func (p *progress) leftText(now time.Time) string {
	if len(p.left) == 0 {
		return ""
	}
	done, rest := 0.0, 0.0
	for name := range p.seconds {
		done += expected(p.times, name)
	}
	for name := range p.left {
		rest += expected(p.times, name)
	}
	if done == 0 {
		return ""
	}
	left := time.Duration(now.Sub(p.began).Seconds() * rest / done * float64(time.Second))
	return fmt.Sprintf("  about %s left", left.Round(time.Second))
}

// slowest is the number of packages in the summary.
const slowest = 10

// summary prints the slowest packages, how long the run took, and what the run left out.
func (p *progress) summary(o options) {
	names := slices.SortedFunc(maps.Keys(p.seconds), func(a, b string) int {
		return cmp.Or(-cmp.Compare(p.seconds[a], p.seconds[b]), strings.Compare(a, b))
	})
	fmt.Fprintf(p.out, "\nthe slowest of %d packages:\n", p.ended)
	for _, name := range names[:min(slowest, len(names))] {
		fmt.Fprintf(p.out, "%8.1fs %s\n", p.seconds[name], name)
	}
	fmt.Fprintf(p.out, "%d tests of %d packages in %s\n", p.tests, p.ended, time.Since(p.began).Round(time.Second))
	if !o.deep {
		fmt.Fprintln(p.out, "This was the fast tier, one example of every proof. make prove runs all; go run ./tools/tests -list-deep names what it has besides.")
	}
}
