// Package chips is the table of the published speeds of Apple's GPUs: operations, bytes and launches. This
// project has measured none of them. Predictions of speed use it, and time limits for work that has never
// run.
package chips

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// Chip is a line of the table.
type Chip struct {
	Name     string // as "M3 Pro"
	Cores    int
	TFlops   float64 // 10^12 float operations per second, peak
	GBs      float64 // 10^9 bytes of memory per second, peak
	LaunchUs float64 // microseconds of a dispatch that waits for the previous one
}

//go:embed chips.tsv
var text string

// All lists the chips in the table's order.
var All = mustParse(text)

// Named is the chip with a name; the zero Chip if there is none.
func Named(name string) Chip {
	for _, c := range All {
		if c.Name == name {
			return c
		}
	}
	return Chip{}
}

// Of is the chip that a GPU's name names, such as "Apple M3 Pro". For a name that is not in the table it is
// the first chip, which is the slowest.
func Of(gpu string) Chip {
	best := All[0]
	words := strings.Fields(gpu)
	for _, c := range All {
		own := strings.Fields(c.Name)
		for i := range words {
			if i+len(own) <= len(words) && strings.Join(words[i:i+len(own)], " ") == c.Name && (best.Name == All[0].Name || len(c.Name) > len(best.Name)) {
				best = c
			}
		}
	}
	return best
}

func mustParse(text string) []Chip {
	list, err := parse(text)
	if err != nil {
		panic(err) // the table is part of the program, and a test reads it
	}
	return list
}

// parse reads the table. Its first line without # names the columns.
func parse(text string) (list []Chip, err error) {
	head := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case !head:
			if want := "chip\tcores\ttflop_s\tgb_s\tlaunch_us"; line != want {
				return nil, fmt.Errorf("chips: the columns are %q; expected %q", line, want)
			}
			head = true
			continue
		}
		c, err := parseChip(strings.Split(line, "\t"))
		if err != nil {
			return nil, fmt.Errorf("chips: line %q: %w", line, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("chips: the table has no chip")
	}
	return list, nil
}

func parseChip(f []string) (c Chip, err error) {
	if len(f) != 5 || f[0] == "" {
		return c, fmt.Errorf("%d fields; expected a name and 4 numbers", len(f))
	}
	c.Name = f[0]
	if c.Cores, err = strconv.Atoi(f[1]); err != nil {
		return c, err
	}
	for i, to := range []*float64{&c.TFlops, &c.GBs, &c.LaunchUs} {
		if *to, err = strconv.ParseFloat(f[2+i], 64); err != nil {
			return c, err
		}
		if !(*to > 0 && *to < 1e6) {
			return c, fmt.Errorf("%s is no rate", f[2+i])
		}
	}
	if c.Cores < 1 {
		return c, fmt.Errorf("%d cores", c.Cores)
	}
	return c, nil
}
