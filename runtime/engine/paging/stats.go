package paging

// Stats is a pool's counts. InUse + Cached + Free is the size of the pool.
type Stats struct {
	InUse  int // pages that a sequence holds
	Cached int // pages that only the tree holds
	Free   int // pages that nothing holds
	Shared int // pages that at least two sequences hold

	Hits    int64 // tokens of prompts that Open and Reuse have found
	Misses  int64 // tokens of prompts that were not found and had to be run
	Evicted int64 // pages that were evicted
}

// Stats counts the pages by use, and events since the pool was made.
func (p *Pool) Stats() Stats {
	cached, free := p.lru.Len(), p.total-len(p.pages)+len(p.free)
	return Stats{
		InUse: p.total - cached - free, Cached: cached, Free: free, Shared: p.shared,
		Hits: p.hits, Misses: p.misses, Evicted: p.evicted,
	}
}
