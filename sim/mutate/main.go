// Command mutate is a mutation test. It makes one mistake at a time in compiled plans, in the runtime's Go
// code or in the Metal source, and checks that the simulator, the reference logits or the tests notice it.
//
// It prints a line per mutation with its ID and what caught it, and the counts at the end. Mutations that
// cannot change a result are listed with the reason in exclusions.json and are not counted. The exit status
// is 1 if a mutation escapes.
//
//	go run ./sim/mutate -seed 7          the plan's barriers, the named mistakes and a draw
//	go run ./sim/mutate -seed 7,8        what either seed draws, each once
//	go run ./sim/mutate -seed 7 -fast    a small draw, for CI
//	go run ./sim/mutate -only 'go/*'     all whose name matches
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	caught, err := command(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if !caught {
		os.Exit(1)
	}
}

// command runs the command line and reports whether every mutation was caught.
func command(ctx context.Context, args []string, out io.Writer) (bool, error) {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	seeds := []uint64{1}
	flags.Func("seed", "which mutations are drawn; of several seeds, with commas between them, what any of them draws (default 1)", func(list string) (err error) {
		seeds, err = numbers(list)
		return err
	})
	fast := flags.Bool("fast", false, "a small draw, in a minute or two")
	var only []string
	flags.Func("only", "run all mutations whose id matches; * stands for any text; may be repeated", func(p string) error {
		only = append(only, p)
		return nil
	})
	list := flags.Bool("list", false, "print the ids and run nothing")
	root := flags.String("root", ".", "the repository")
	workers := flags.Int("j", runtime.NumCPU(), "mutations at a time")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	r, err := newRig(ctx, *root)
	if err != nil {
		return false, err
	}
	defer r.close()
	all, err := r.mutations()
	if err != nil {
		return false, err
	}
	excluded, err := readExclusions(r.path(exclusionsFile))
	if err != nil {
		return false, err
	}
	chosen := choose(all, seeds, *fast, only, excluded)
	if *list {
		for _, m := range chosen {
			fmt.Fprintln(out, m.id)
		}
		return true, nil
	}
	if err := r.prepare(chosen, *fast); err != nil {
		return false, err
	}
	t := run(ctx, chosen, *workers, excluded, out)
	fmt.Fprint(out, t)
	return t.escaped == 0, ctx.Err()
}

// numbers reads a list of numbers that are separated by commas.
func numbers(list string) (all []uint64, err error) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// mutation is one mistake, with the function that tries it.
type mutation struct {
	// id is KIND/FILE/…. It stays the same while the mutated place does.
	id   string
	file string // the reference file that is run, if any
	// try makes the mistake and returns what caught it.
	try func() verdict
}

// kind returns plan, msl or go.
func (m *mutation) kind() string {
	kind, _, _ := strings.Cut(m.id, "/")
	return kind
}
