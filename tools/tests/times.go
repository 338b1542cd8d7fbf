package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"mla/runtime/system/atomicfile"
)

// timesFile contains recorded times, from which the remaining time is estimated: a line per tier and package
// with its seconds.
const timesFile = "tools/tests/times.txt"

// recorded is a line of the file.
type recorded struct {
	tier, pkg string
	seconds   float64
}

// readTimes returns the seconds of each package in a tier. A missing file gives an empty map.
func readTimes(path, tier string) (map[string]float64, error) {
	all, err := readAll(path)
	times := map[string]float64{}
	for _, r := range all {
		if r.tier == tier {
			times[r.pkg] = r.seconds
		}
	}
	return times, err
}

func readAll(path string) ([]recorded, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []recorded
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: %q; expected a tier, a package and seconds", path, n, lines.Text())
		}
		seconds, err := strconv.ParseFloat(fields[2], 64)
		if err != nil || !(seconds >= 0 && seconds <= 1e5) {
			return nil, fmt.Errorf("%s:%d: %q; expected seconds", path, n, fields[2])
		}
		all = append(all, recorded{fields[0], fields[1], seconds})
	}
	return all, lines.Err()
}

// writeTimes replaces the recorded times of a tier.
func writeTimes(path, tier string, seconds map[string]float64) error {
	all, err := readAll(path)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(r recorded) bool { return r.tier == tier })
	for p, s := range seconds {
		all = append(all, recorded{tier, p, s})
	}
	slices.SortFunc(all, func(a, b recorded) int {
		return strings.Compare(a.tier+" "+a.pkg, b.tier+" "+b.pkg)
	})
	var text strings.Builder
	text.WriteString("# How long packages took on two cores, in seconds: go run ./tools/tests -record\n")
	for _, r := range all {
		fmt.Fprintf(&text, "%s %s %.1f\n", r.tier, r.pkg, r.seconds)
	}
	return atomicfile.Write(path, []byte(text.String()))
}
