package plan

// OnCores is how many splits there are on a GPU with a given number of cores; 0: it is not known, and there are
// Count. Each core has as many as the others, so that none is left to wait for the last ones.
func (s Splits) OnCores(cores int) int {
	switch {
	case s.PerCore == 0 || cores < 1:
		return s.Count
	case cores > s.Count:
		return s.Count
	}
	return cores * min(s.PerCore, s.Count/cores)
}

// InTurns is how many splits there are on a GPU that runs a given number of their threadgroups at a time: as many,
// or where there is no room for all their results, the same share of them in each of several turns.
func (s Splits) InTurns(atOnce int) int {
	if s.PerCore == 0 || atOnce < 1 {
		return s.Count
	}
	return ceil(atOnce, ceil(atOnce, s.Count))
}

// PerCore is how the kernel cuts attention whose splits follow the cores; nil: it has none that do.
func (k *Kernel) PerCore() *Splits {
	for _, p := range k.Parts {
		for _, u := range p.Uses() {
			if u.Splits != nil && u.Splits.PerCore > 0 {
				return u.Splits
			}
		}
	}
	return nil
}

// Attends says whether the kernel is attention in splits, and does not only combine them.
func (k *Kernel) Attends() bool {
	for _, p := range k.Parts {
		if _, ok := p.(*Attend); ok {
			return true
		}
	}
	return false
}

// Persistent says whether a grid of the kernel has as many threadgroups as run at a time, whatever there is to do:
// attention whose splits follow the GPU, and experts whose threadgroups draw tickets.
func (k *Kernel) Persistent() bool {
	for _, p := range k.Parts {
		if e, ok := p.(*Experts); ok && e.Persistent > 0 {
			return true
		}
	}
	return k.PerCore() != nil && k.Attends()
}

// WithSplits is the kernel with a given number of splits, at most those that it has, where their number follows the
// cores of a GPU; else the kernel itself.
func (k *Kernel) WithSplits(n int) *Kernel {
	if s := k.PerCore(); s == nil || s.Count == n {
		return k
	}
	with := *k
	with.Parts = make([]Part, len(k.Parts))
	for i, p := range k.Parts {
		with.Parts[i] = withSplits(p, n)
	}
	return &with
}

func withSplits(p Part, n int) Part {
	switch old := p.(type) {
	case *Attend:
		p := *old
		p.Splits.cut(n)
		return &p
	case *CombineVec:
		p := *old
		p.Combine.Splits.cut(n)
		return &p
	case *MatVec:
		if old.Combine != nil {
			p, c := *old, *old.Combine
			c.Splits.cut(n)
			p.Combine = &c
			return &p
		}
	}
	return p
}

func (s *Splits) cut(n int) {
	if s.PerCore > 0 {
		s.Count = min(max(n, 1), s.Count)
	}
}
