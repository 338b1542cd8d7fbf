// Package replay is a device that runs a bundle's printed Metal source on the CPU, through gen/msl/execute.
// It runs the same kernels as a Mac. It is made for tests and to find mistakes, not for speed: memory starts
// as NaN, dispatches between two barriers and the threadgroups of a dispatch run in random order, and a
// kernel that breaks a rule ends the replay with an error.
package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"unsafe"

	"mla/gen/msl/execute"
	"mla/runtime/device"
	"mla/runtime/plan"
)

// Device compiles each bundle once. It must be used by one goroutine at a time.
type Device struct {
	checks   execute.Checks
	programs map[string]*execute.Program // by Metal source
}

// New returns a device with the given checks. Close must be called.
func New(c execute.Checks) *Device {
	return &Device{c, map[string]*execute.Program{}}
}

// Name implements device.Device.
func (d *Device) Name() string { return "msl" }

// Class implements device.Device. The class is empty: the device runs kernels of every class.
func (d *Device) Class() string { return "" }

// Takes implements device.Device.
func (d *Device) Takes(l *device.Layout) int64 { return l.Bytes() }

// Close ends the processes that run the kernels. All runners of the device are unusable afterwards.
func (d *Device) Close() error {
	var err error
	for _, p := range d.programs {
		err = errors.Join(err, p.Close())
	}
	clear(d.programs)
	return err
}

func (d *Device) program(source string) (*execute.Program, error) {
	if p := d.programs[source]; p != nil {
		return p, nil
	}
	p, err := execute.Compile(source, d.checks)
	if err == nil {
		d.programs[source] = p
	}
	return p, err
}

// Runner is a recorded plan with its memory. It implements device.Runner.
type Runner struct {
	// Touched, if set, is called with the ranges that each dispatch of a replay loaded and stored.
	Touched func(dispatch int, ranges []execute.Range)
	// Around, if set, is called for each dispatch of a replay, and must call run.
	Around func(dispatch int, run func() error) error
	// StoreDelay makes stores of a threadgroup invisible to the other threadgroups of its dispatch until it
	// executes a device-scope fence. It needs execute.Checked.
	StoreDelay bool
	// Used counts the launches of each kernel function.
	Used map[string]int

	bundle                           *plan.Bundle
	input                            []float32 // hidden vectors set for the next replay
	program                          *execute.Program
	sequences                        []sequence // by rising width
	regions                          []*execute.Buffer
	device.Memories[*execute.Buffer] // by memory space; nil: the bundle has none. Weights are in regions
	width, batch                     int
	vocab                            int
	tables                           *device.Tables // the host's copy of the block tables
	pages                            int            // pages of a cache
	pageBytes                        int            // bytes of a page in all caches together
	planes                           plan.Planes    // planes of a page
	bytes                            int64
	rng                              *rand.Rand
}

// sequence is a plan.Sequence with its launches.
type sequence struct {
	device.Recording
	launches []execute.Launch // one per command, in order
}

// Load implements device.Device.
func (d *Device) Load(m *device.Model, cfg device.Config) (device.Runner, error) {
	p, err := d.program(m.Bundle.Metal())
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	r := &Runner{Used: map[string]int{}, bundle: m.Bundle, program: p, vocab: m.Bundle.Model.VocabSize, rng: rand.New(rand.NewPCG(1, 2))}
	layout, err := m.Layout(cfg)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", m.Bundle.Name, err)
	}
	commands, err := m.Commands(layout, cfg, "")
	if err != nil {
		return nil, err
	}
	if err := r.allocate(m, layout, commands.Constants); err != nil {
		return nil, err
	}
	for _, q := range commands.Sequences {
		s := sequence{Recording: q}
		for i := range q.Commands {
			s.launches = append(s.launches, r.launch(&q.Commands[i]))
		}
		r.sequences = append(r.sequences, s)
	}
	return r, nil
}

// allocate allocates all memory of the plan. Memory that kernels write starts as NaN.
func (r *Runner) allocate(m *device.Model, l *device.Layout, constants []byte) error {
	var failed error
	buffer := func(n int64, poison bool) *execute.Buffer {
		b, err := r.program.NewBuffer(int(n))
		if err != nil {
			failed = errors.Join(failed, err)
			return nil
		}
		if poison {
			fill(b.Bytes)
		}
		return b
	}
	for _, region := range m.Regions {
		b := buffer(int64(len(region)), false)
		if b != nil {
			copy(b.Bytes, region)
		}
		r.regions = append(r.regions, b)
	}
	for range l.Layers {
		r.Caches = append(r.Caches, buffer(l.Cache, true))
		r.bytes += l.Cache
	}
	sizes := l.Sizes()
	sizes[plan.SpaceKV], sizes[plan.SpacePick] = 0, 0 // tokens are picked on the host, so there is no memory for picks
	sizes[plan.SpaceRow], sizes[plan.SpaceWanted], sizes[plan.SpaceArgs] = rowBytes*int64(l.Width), rowBytes*int64(l.Batch), int64(len(constants))
	for i, n := range sizes {
		if s := plan.Space(i); n > 0 {
			r.Spaces[s] = buffer(n, s != plan.SpaceRope && s != plan.SpaceCounters)
			r.bytes += n
		}
	}
	r.width, r.batch, r.tables, r.pages = l.Width, l.Batch, l.NewTables(), l.Pages
	r.pageBytes, r.planes = l.PageBytes(), l.Planes
	if failed != nil {
		return failed
	}
	device.RopeTable(floats(r.bytesOf(plan.SpaceRope)), l.Freqs, m.Bundle.RopeMScale)
	copy(r.bytesOf(plan.SpaceArgs), constants)
	return nil
}

// rowBytes is the size of a plan.Row in bytes.
const rowBytes = int64(unsafe.Sizeof(plan.Row{}))

func fill(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// floats returns a buffer as float32 numbers. The buffer must be aligned to 16 bytes.
func floats(b []byte) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4) }

// bytesOf returns the memory of a space.
func (r *Runner) bytesOf(s plan.Space) []byte {
	if b := r.Spaces[s]; b != nil {
		return b.Bytes
	}
	return nil
}

// launch binds the slots of a command, each to exactly the range that the kernel may access.
func (r *Runner) launch(c *device.Command) execute.Launch {
	l := execute.Launch{Kernel: c.Variant.Func, Groups: c.Groups, Threads: c.Kernel.Threads}
	for i := range c.Bindings {
		l.Args = append(l.Args, r.argument(&c.Bindings[i]))
	}
	return l
}

func (r *Runner) argument(b *device.Binding) execute.Arg {
	if w := b.Weight; w != nil {
		return execute.Arg{Buffer: r.regions[w.Region], Offset: int(w.Offset), Size: int(w.Bytes)}
	}
	if b.Bytes > 0 {
		return execute.Arg{Buffer: r.At(b), Offset: int(b.Offset), Size: int(b.Bytes)}
	}
	return r.At(b).All()
}

// Assign implements device.Runner.
func (r *Runner) Assign(table, first int, pages []uint32) error {
	at, err := r.tables.Assign(table, first, pages)
	if err != nil {
		return err
	}
	r.tables.Write(r.bytesOf(plan.SpaceTables), at, len(pages))
	return nil
}

// CopyRows implements device.Runner.
func (r *Runner) CopyRows(from, to uint32, n int) error {
	if err := r.tables.CheckCopy(from, to, n); err != nil {
		return err
	}
	r.hostCaches().CopyRows(from, to, n)
	return nil
}

// PageBytes implements device.Runner.
func (r *Runner) PageBytes() int { return r.pageBytes }

// ReadPage implements device.Runner.
func (r *Runner) ReadPage(page uint32, dst []byte) error {
	err := r.tables.CheckPage(page, len(dst), r.pageBytes)
	if err == nil {
		r.hostCaches().Read(page, dst)
	}
	return err
}

// WritePage implements device.Runner.
func (r *Runner) WritePage(page uint32, src []byte) error {
	err := r.tables.CheckPage(page, len(src), r.pageBytes)
	if err == nil {
		r.hostCaches().Write(page, src)
	}
	return err
}

func (r *Runner) hostCaches() device.Caches {
	c := device.Caches{Pages: r.pages, Planes: r.planes}
	for _, b := range r.Caches {
		c.Layers = append(c.Layers, b.Bytes)
	}
	return c
}

// Replay implements device.Runner. Dispatches that no barrier separates run in random order. The arena is
// filled with NaN first, because no activation may survive a replay.
func (r *Runner) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	if len(rows) < 1 || len(rows) > r.width {
		return nil, fmt.Errorf("%d rows; expected 1 to %d", len(rows), r.width)
	}
	if err := errors.Join(device.CheckWanted(wanted, len(rows), r.batch), r.tables.Check(rows...)); err != nil {
		return nil, err
	}
	fill(r.bytesOf(plan.SpaceArena))
	fill(r.bytesOf(plan.SpaceLogits))
	r.putInput()
	setRows(r.bytesOf(plan.SpaceRow), rows)
	setRows(r.bytesOf(plan.SpaceWanted), device.Wanted(nil, rows, wanted))
	s := &r.sequences[slices.IndexFunc(r.sequences, func(s sequence) bool { return s.Width >= len(rows) })]
	end := len(s.launches)
	if len(wanted) == 0 {
		end = s.Head
	}
	for from := 0; from < end; {
		to := from + 1
		for to < end && !s.Commands[to].Dispatch.Barrier {
			to++
		}
		for _, i := range r.rng.Perm(to - from) {
			if err := r.around(s, from+i); err != nil {
				return nil, fmt.Errorf("dispatch %d: %w", from+i, err)
			}
		}
		from = to
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	return floats(r.bytesOf(plan.SpaceLogits))[:len(wanted)*r.vocab], nil
}

// setRows writes rows, and padding rows after them.
func setRows(to []byte, rows []plan.Row) {
	clear(to)
	for i, row := range rows {
		for j, v := range []uint32{row.Token, row.Pos, row.NKV, row.Table} {
			binary.LittleEndian.PutUint32(to[16*i+4*j:], v)
		}
	}
}

// Width implements device.Runner.
func (r *Runner) Width() int { return r.width }

// Wanted implements device.Runner.
func (r *Runner) Wanted(rows int) int { return plan.WantedRows(rows, r.batch) }

func (r *Runner) around(s *sequence, i int) error {
	if r.Around == nil {
		return r.run(s, i)
	}
	return r.Around(i, func() error { return r.run(s, i) })
}

func (r *Runner) run(s *sequence, i int) error {
	l := s.launches[i]
	l.Seed, l.StoreDelay = r.rng.Uint64(), r.StoreDelay
	var touched []execute.Range
	if r.Touched != nil {
		l.Touched = &touched
	}
	r.Used[l.Kernel]++
	err := r.program.Run(l)
	if r.Touched != nil {
		r.Touched(i, touched)
	}
	return err
}
