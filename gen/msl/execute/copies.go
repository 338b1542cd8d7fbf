package execute

// Copies runs kernels on copies of the caller's memory, in buffers that it uses
// again and again. It serves one goroutine.
type Copies struct {
	StoreDelay bool // see Launch

	program *Program
	buffers []*Buffer // by slot
	seed    uint64    // of the order of threadgroups
}

// Copies returns a Copies of its own at every call.
func (p *Program) Copies() *Copies { return &Copies{program: p} }

// Run runs a kernel on data in place, one slice per [[buffer(i)]], with the
// threadgroups in another order every time. Nothing accessible follows a slice's last
// byte. After a *Fault data has what the kernel left.
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
