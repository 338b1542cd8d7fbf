// Command tinychat lets a model answer the held-out prompts of package exam through the project's engine, and
// prints the number of right answers.
//
//	go run ./tools/tinychat -model testdata/tinychat.gguf
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"mla/tools/tinychat/exam"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("tinychat", flag.ContinueOnError)
	model := f.String("model", "testdata/tinychat.gguf", "GGUF `file`")
	threads := f.Int("t", runtime.NumCPU(), "`threads`")
	verbose := f.Bool("v", false, "print answers that are not right")
	if err := f.Parse(args); err != nil {
		return err
	}
	cases, err := exam.Cases()
	if err != nil {
		return err
	}
	m, err := exam.Open(*model, *threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	table, err := exam.Take(context.Background(), m, cases, func(c *exam.Case, a exam.Answer) {
		if *verbose {
			fmt.Fprintf(out, "%s: %q\nexpected %q\n", c.Kind, a.Text+a.End, c.Wanted)
		}
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, table)
	return err
}
