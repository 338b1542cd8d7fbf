package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"mla/runtime/device"
	"mla/runtime/device/cuda/cu"
	"mla/runtime/plan"
)

// Launcher runs single kernels of one bundle on the caller's memory. It is a device.Launcher, for one
// goroutine at a time.
type Launcher struct {
	bundle *plan.Bundle
	gpu    *cu.Context
	ptx    *ptx
	stream cu.Stream
	codes  map[string]*code // by function
}

// NewLauncher parses the bundle's kernels. They are compiled when they are needed.
func (d *Device) NewLauncher(b *plan.Bundle) (*Launcher, error) {
	p, err := d.read(b)
	if err != nil {
		return nil, err
	}
	l := &Launcher{bundle: b, ptx: p, codes: map[string]*code{}}
	if l.gpu, err = d.device.Retain(); err != nil {
		return nil, err
	}
	err = l.gpu.Do(func() (err error) {
		l.stream, err = cu.NewStream()
		return err
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close frees everything.
func (l *Launcher) Close() error {
	err := l.gpu.Do(func() error {
		err := l.stream.Destroy()
		for _, c := range l.codes {
			err = errors.Join(err, c.unload())
		}
		return err
	})
	return errors.Join(err, l.gpu.Release())
}

// Compile compiles functions of the bundle before Launch needs them.
func (l *Launcher) Compile(functions []string) error {
	return l.gpu.Do(func() error {
		for i := range l.bundle.Kernels {
			k := &l.bundle.Kernels[i]
			for j := range k.Variants {
				if !slices.Contains(functions, k.Variants[j].Func) {
					continue
				}
				if _, err := l.kernel(k, &k.Variants[j]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Launch implements device.Launcher.
func (l *Launcher) Launch(c *device.Launch) error {
	return l.gpu.Do(func() error { return l.launch(c) })
}

func (l *Launcher) launch(c *device.Launch) (err error) {
	kernel, err := l.kernel(c.Kernel, c.Variant)
	if err != nil {
		return err
	}
	split, err := splitRows(c.Kernel, c.Variant)
	if err != nil {
		return err
	}
	b := &buffers{host: c.Buffers, rows: split}
	defer func() { err = errors.Join(err, b.free()) }()
	if err := b.allocate(); err != nil {
		return err
	}
	graph, err := record([]stage{{launches: []cu.Launch{{Kernel: kernel, Groups: c.Groups, Threads: c.Threads, Params: b.device}}}})
	defer func() { err = errors.Join(err, l.stream.Wait(), graph.Destroy()) }()
	if err != nil {
		return err
	}
	if err := b.upload(l.stream); err != nil {
		return err
	}
	if err := graph.Launch(l.stream); err != nil {
		return err
	}
	return b.download(l.stream)
}

// kernel compiles a variant, once.
func (l *Launcher) kernel(k *plan.Kernel, v *plan.Variant) (cu.Kernel, error) {
	name := v.Func
	if l.codes[name] == nil {
		loaded, err := l.ptx.load([]use{{name, k}})
		if err != nil {
			return cu.Kernel{}, errors.Join(err, loaded.unload())
		}
		l.codes[name] = loaded
	}
	return l.codes[name].kernels[name], nil
}

// buffers is host memory and its copies on the device.
type buffers struct {
	host   [][]byte
	rows   map[int]rowLayout // by slot: layouts of weights whose rows are split
	device []cu.Ptr
	pinned *cu.Pinned // for all buffers, one after the other
}

func (b *buffers) allocate() (err error) {
	total := 0
	for i, h := range b.host {
		if len(h)%b.rows[i].bytes() != 0 {
			return fmt.Errorf("slot %d: %d bytes; expected whole rows of %d", i, len(h), b.rows[i].bytes())
		}
		p, err := cu.Alloc(int64(max(1, b.placed(i))))
		if err != nil {
			return err
		}
		b.device = append(b.device, p)
		total += b.placed(i)
	}
	b.pinned, err = cu.AllocPinned(max(1, total))
	return err
}

// placed is the length of a buffer on the device.
func (b *buffers) placed(i int) int { return int(b.rows[i].placed(int64(len(b.host[i])))) }

// upload appends the copies to the device to the stream.
func (b *buffers) upload(s cu.Stream) error {
	return b.each(func(at, i int) error {
		b.rows[i].copy(b.pinned.Bytes()[at:], b.host[i])
		return s.Upload(b.device[i], b.pinned, at, b.placed(i))
	})
}

// download copies all contents back, after the work in the stream. It does not copy split rows, and fails if
// a kernel has written to them.
func (b *buffers) download(s cu.Stream) error {
	if err := b.each(func(at, i int) error { return s.Download(b.pinned, at, b.device[i], b.placed(i)) }); err != nil {
		return err
	}
	if err := s.Wait(); err != nil {
		return err
	}
	return b.each(func(at, i int) error {
		back := b.pinned.Bytes()[at : at+b.placed(i)]
		r, split := b.rows[i]
		if !split {
			copy(b.host[i], back)
			return nil
		}
		sent := make([]byte, len(back))
		r.copy(sent, b.host[i])
		if !bytes.Equal(back, sent) {
			return fmt.Errorf("slot %d: the kernel writes to a weight", i)
		}
		return nil
	})
}

// each calls f with the offset of every buffer in the page-locked memory.
func (b *buffers) each(f func(at, i int) error) error {
	at := 0
	for i, h := range b.host {
		if len(h) == 0 {
			continue
		}
		if err := f(at, i); err != nil {
			return err
		}
		at += b.placed(i)
	}
	return nil
}

func (b *buffers) free() error { return errors.Join(free(b.device), b.pinned.Free()) }
