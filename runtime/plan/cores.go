package plan

// OnCores is the number of splits on a GPU with a given number of cores: the same number for each core, so
// that no core runs one more while the others wait. 0 cores: their number is unknown, and there are Count
// splits.
func (s Splits) OnCores(cores int) int {
	switch {
	case s.PerCore == 0 || cores < 1:
		return s.Count
	case cores > s.Count:
		return s.Count
	}
	return cores * min(s.PerCore, s.Count/cores)
}

// InTurns is the number of splits on a GPU that runs atOnce of their threadgroups concurrently: atOnce, or if
// Count is less, the largest equal share of atOnce that fits.
func (s Splits) InTurns(atOnce int) int {
	if s.PerCore == 0 || atOnce < 1 {
		return s.Count
	}
	return ceil(atOnce, ceil(atOnce, s.Count))
}

// PerCore returns how the kernel splits attention by the GPU's cores; nil: it does not.
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

// Attends says whether the kernel computes attention in splits. A kernel that only combines splits does not.
func (k *Kernel) Attends() bool {
	for _, p := range k.Parts {
		if _, ok := p.(*Attend); ok {
			return true
		}
	}
	return false
}

// Persistent says whether the kernel's grid is as large as the GPU runs concurrently, independent of the
// work: attention with splits per core, and experts whose threadgroups draw tickets.
func (k *Kernel) Persistent() bool {
	for _, p := range k.Parts {
		if e, ok := p.(*Experts); ok && e.Persistent > 0 {
			return true
		}
	}
	return k.PerCore() != nil && k.Attends()
}

// WithSplits returns the kernel with n splits, at most its Count, if its number of splits depends on the
// GPU's cores; else the kernel itself.
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
