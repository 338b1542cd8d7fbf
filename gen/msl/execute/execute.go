// Package execute runs Metal kernels on the CPU, so that tests can compare their results with a reference. A
// separate process, the runner of sim/exec, compiles the source unchanged, and launches kernels on memory
// that it shares with the test. If a kernel breaks a rule, the test gets a Fault; sim/exec/msl.h lists the
// rules.
package execute

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Checks says which errors of kernels are detected.
type Checks int

// Checked detects accesses out of bounds and data races, to the byte. Fast detects only barriers that some
// threads miss, and accesses to inaccessible pages. Sanitized is Fast with AddressSanitizer and UBSan, which
// also check the local arrays of threads.
const (
	Checked Checks = iota
	Fast
	Sanitized
)

// Small is combined with one of the others for kernels that run only briefly. They are compiled without
// optimisation, in half the time.
const Small Checks = 1 << 8

var checks = map[Checks]struct {
	runner string
	flags  []string
}{
	Checked:   {"runner", nil},
	Fast:      {"runner", []string{"-fast"}},
	Sanitized: {"runner-sanitize", []string{"-sanitize"}},
}

// options returns the options of the runner.
func (c Checks) options() []string {
	list := slices.Clone(checks[c&^Small].flags)
	if c&Small != 0 {
		list = append(list, "-small")
	}
	return list
}

// Program is a compiled Metal source, and the process that runs it. It must be used by one goroutine at a
// time.
type Program struct {
	dir      string
	kernels  []Kernel
	mapped   [][]byte // the files behind the buffers
	process  *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	problems bytes.Buffer
}

// Kernel is a kernel of the source. Bit i of a mask is for [[buffer(i)]].
type Kernel struct {
	Name             string
	Buffers          uint32 // the buffer exists
	Constants        uint32 // the buffer is in address space constant
	Writable         uint32 // the buffer is in address space device, and not const
	ThreadgroupBytes uint32
	MaxThreads       uint32
}

// Fault says which rule a kernel broke.
type Fault struct{ Rule, Text string }

func (f *Fault) Error() string { return f.Rule + ": " + f.Text }

// Compile starts a runner for a source that frontend.Check accepts. The runner compiles the kernels that are
// not in the cache of compiled kernels (sim/exec/store.h). The error has the compiler's messages.
func Compile(source string, c Checks) (*Program, error) {
	dir, err := os.MkdirTemp("", "msl")
	if err != nil {
		return nil, err
	}
	p := &Program{dir: dir}
	if err := p.start(source, c); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Program) start(source string, c Checks) error {
	root, err := tools()
	if err != nil {
		return err
	}
	metal := filepath.Join(p.dir, "in.metal")
	if err := os.WriteFile(metal, []byte(source), 0o600); err != nil {
		return err
	}
	p.process = exec.Command(filepath.Join(root, checks[c&^Small].runner), append(c.options(), filepath.Join(root, "exec"), metal)...)
	p.process.Stderr = &p.problems
	if p.in, err = p.process.StdinPipe(); err != nil {
		return err
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.process.Start(); err != nil {
		p.process = nil
		return err
	}
	lines, err := p.ask("list\n")
	for _, line := range lines {
		var k Kernel
		var checked uint32
		if _, err := fmt.Sscan(line, &k.Name, &k.Buffers, &k.Constants, &k.Writable, &k.ThreadgroupBytes, &k.MaxThreads, &checked); err != nil {
			return fmt.Errorf("runner: %q: %w", line, err)
		}
		p.kernels = append(p.kernels, k)
	}
	return err
}

// Kernels lists the kernels in source order.
func (p *Program) Kernels() []Kernel { return p.kernels }

// Compiled returns the names of the kernels that were compiled because they were not in the cache.
func (p *Program) Compiled() ([]string, error) { return p.ask("compiled\n") }

// ask sends a request, and returns the lines of the answer before "ok".
func (p *Program) ask(request string) ([]string, error) {
	if _, err := io.WriteString(p.in, request); err != nil {
		return nil, p.died(err)
	}
	var lines []string
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return nil, p.died(err)
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "ok" {
			return lines, nil
		}
		if text, ok := strings.CutPrefix(line, "fault "); ok {
			rule, text, _ := strings.Cut(text, " ")
			return nil, &Fault{rule, text}
		}
		lines = append(lines, line)
	}
}

// died returns the error for a runner that ended unexpectedly, with its messages.
func (p *Program) died(err error) error {
	wait := p.process.Wait()
	p.process = nil
	return fmt.Errorf("runner: %w", errors.Join(err, wait, errors.New(p.problems.String())))
}

// Close ends the runner and removes its files.
func (p *Program) Close() error {
	var err error
	if p.process != nil {
		p.in.Close()
		err = p.process.Wait()
		p.process = nil
	}
	for _, mem := range p.mapped {
		err = errors.Join(err, syscall.Munmap(mem))
	}
	p.mapped = nil
	return errors.Join(err, os.RemoveAll(p.dir))
}
