// Command tests runs the project's tests and shows the progress: which packages have ended, the estimated
// remaining time, what failed, and at the end the ten slowest packages. Estimates use recorded times.
//
//	go run ./tools/tests            the fast tier: make test
//	go run ./tools/tests -deep      all tests: make prove
//	go run ./tools/tests -list-deep print the tests that the deep tier adds or changes
//
// -deep runs the fast tier first: packages that have passed before come from Go's cache. Then it runs the
// tests that the build tag deep changes (deeptests.go).
//
// Arguments name packages; without any, all packages of the module are tested.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"
)

// options are the options of the command line.
type options struct {
	deep, race, list, record bool
	timeout                  time.Duration
	pattern                  string
	packages                 []string
}

func main() {
	var o options
	flag.BoolVar(&o.deep, "deep", false, "run the deep tier, too")
	flag.BoolVar(&o.race, "race", false, "run under the race detector")
	flag.BoolVar(&o.list, "list-deep", false, "list the tests that only the deep tier has, and run nothing")
	flag.BoolVar(&o.record, "record", false, "write the times of this run into "+timesFile)
	flag.StringVar(&o.pattern, "run", "", "run only tests whose names match, as go test does")
	flag.DurationVar(&o.timeout, "timeout", 40*time.Minute, "the longest that one package may take")
	flag.Parse()
	o.packages = flag.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "tests:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	if !o.deep && !o.list {
		dirs, err := testPackages(o)
		if err != nil {
			return err
		}
		return runTier(o, slices.Collect(maps.Keys(dirs)))
	}
	deep := o
	deep.deep = true
	dirs, err := testPackages(deep)
	if err != nil || o.list {
		return errors.Join(err, printDeep(os.Stdout, dirs))
	}
	packages, pattern, err := deepPackages(dirs)
	if err != nil {
		return err
	}
	if o.pattern == "" {
		deep.pattern = pattern
	}
	o.deep = false
	return errors.Join(run(o), runTier(deep, packages))
}

// runTier runs the tests of packages in the tier that o selects.
func runTier(o options, packages []string) error {
	packages, elsewhere := runnable(packages, runtime.GOOS)
	for _, p := range elsewhere {
		fmt.Printf("not on %s: %s\n", runtime.GOOS, p)
	}
	times, err := readTimes(timesFile, o.tier())
	if err != nil {
		return err
	}
	order(packages, times)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	p := newProgress(os.Stdout, packages, times)
	failed := goTest(o, packages, p, interrupted)
	p.summary(o)
	if failed == nil && o.record {
		return writeTimes(timesFile, o.tier(), p.seconds)
	}
	return failed
}

// tier returns the name of the tier in timesFile.
func (o options) tier() string {
	switch {
	case o.race:
		return "race"
	case o.deep:
		return "deep"
	}
	return "fast"
}
