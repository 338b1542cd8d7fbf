package execute

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Buffer is memory shared by kernels and the test. An inaccessible page follows its end.
type Buffer struct {
	Bytes []byte
	id    int
}

// align is the alignment of a buffer's start, in bytes, which is the widest load of a kernel.
const align = 16

// NewBuffer returns a buffer of n zero bytes. Close frees it.
func (p *Program) NewBuffer(n int) (*Buffer, error) {
	if n < 1 {
		return nil, fmt.Errorf("buffer of %d bytes", n)
	}
	page := os.Getpagesize()
	whole := (n + page - 1) / page * page
	pad := (whole - n) / align * align
	path := filepath.Join(p.dir, fmt.Sprint("buffer", len(p.mapped)))
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(int64(whole)); err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, whole, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("buffer of %d bytes: %w", n, err)
	}
	b := &Buffer{Bytes: mem[pad : pad+n : pad+n], id: len(p.mapped)}
	p.mapped = append(p.mapped, mem)
	_, err = p.ask(fmt.Sprintf("map %d %s %d %d\n", b.id, path, pad, n))
	return b, err
}

// Arg is what is bound to a buffer index: Size bytes of Buffer, from Offset on. The kernel may access only
// these.
type Arg struct {
	Buffer       *Buffer
	Offset, Size int
}

// All returns the whole buffer as an argument.
func (b *Buffer) All() Arg { return Arg{b, 0, len(b.Bytes)} }

// Launch is one dispatch. Args[i] is [[buffer(i)]].
type Launch struct {
	Kernel          string
	Groups, Threads int
	Args            []Arg
	Seed            uint64 // determines the order of the threadgroups; 0: ascending
	// StoreDelay makes stores of a threadgroup visible to others only when it executes a device-scope fence.
	StoreDelay bool
	// Touched, if not nil, collects the bytes that the kernel loaded and stored.
	Touched *[]Range
}

// Range is a range of bytes of a buffer that a kernel loaded or stored.
type Range struct {
	Buffer        *Buffer
	Offset, Bytes int
	Store         bool
}

// The flags of sim/exec/msl.h and runner.cpp.
const (
	storeDelay    = 1
	reportTouched = 1 << 31
)

// Run runs a kernel. It returns a *Fault if the kernel breaks a rule.
func (p *Program) Run(l Launch) error {
	if p.process == nil {
		return errors.New("the runner has ended")
	}
	flags := uint32(0)
	if l.StoreDelay {
		flags |= storeDelay
	}
	if l.Touched != nil {
		flags |= reportTouched
	}
	var request strings.Builder
	fmt.Fprintf(&request, "run %s %d %d %d %d %d\n", l.Kernel, l.Groups, l.Threads, l.Seed, flags, len(l.Args))
	for _, a := range l.Args {
		if a.Buffer == nil {
			request.WriteString("-1 0 0\n")
			continue
		}
		fmt.Fprintf(&request, "%d %d %d\n", a.Buffer.id, a.Offset, a.Size)
	}
	lines, err := p.ask(request.String())
	if err != nil || l.Touched == nil {
		return err
	}
	return readTouched(l, lines)
}

func readTouched(l Launch, lines []string) error {
	byID := map[int]*Buffer{}
	for _, a := range l.Args {
		if a.Buffer != nil {
			byID[a.Buffer.id] = a.Buffer
		}
	}
	for _, line := range lines {
		var r Range
		var id, store int
		if _, err := fmt.Sscanf(line, "touched %d %d %d %d", &id, &r.Offset, &r.Bytes, &store); err != nil {
			return fmt.Errorf("runner: %q: %w", line, err)
		}
		r.Buffer, r.Store = byID[id], store == 1
		*l.Touched = append(*l.Touched, r)
	}
	return nil
}
