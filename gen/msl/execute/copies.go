package execute

// Copies runs kernels on copies of the caller's memory, in buffers that it reuses. It must be used by one
// goroutine at a time.
type Copies struct {
	StoreDelay bool // see Launch

	program *Program
	buffers []*Buffer // by slot
	seed    uint64    // for the order of threadgroups
}

// Copies returns a new Copies.
func (p *Program) Copies() *Copies { return &Copies{program: p} }

// Run runs a kernel on data, one slice per [[buffer(i)]], and writes the results back to data. The order of
// the threadgroups differs every time. No accessible byte follows the end of a slice. After a *Fault, data
// has what the kernel left.
func (c *Copies) Run(kernel string, groups, threads int, data [][]byte) error {
	c.seed++
	l := Launch{Kernel: kernel, Groups: groups, Threads: threads, Seed: c.seed, StoreDelay: c.StoreDelay}
	for slot, d := range data {
		if slot == len(c.buffers) {
			c.buffers = append(c.buffers, nil)
		}
		if b := c.buffers[slot]; b == nil || len(b.Bytes) < len(d) {
			b, err := c.program.NewBuffer(2 * len(d))
			if err != nil {
				return err
			}
			c.buffers[slot] = b
		}
		b := c.buffers[slot]
		at := (len(b.Bytes) - len(d)) / align * align
		copy(b.Bytes[at:], d)
		l.Args = append(l.Args, Arg{b, at, len(d)})
	}
	err := c.program.Run(l)
	for slot, a := range l.Args {
		copy(data[slot], a.Buffer.Bytes[a.Offset:])
	}
	return err
}
