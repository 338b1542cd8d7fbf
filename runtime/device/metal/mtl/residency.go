package mtl

// ResidencySet keeps allocations resident for the GPU (macOS 15).
type ResidencySet struct{ object }

// NewResidencySet returns an empty set with an initial capacity.
func (d Device) NewResidencySet(capacity int) (ResidencySet, error) {
	descriptor := object{messages.newResidencyDescriptor.send()}
	defer descriptor.Release()
	messages.initialCapacity.send(descriptor.id, uint64(capacity))
	var e ID
	r := messages.newResidencySet.send(d.id, descriptor.id, &e)
	if r == 0 {
		return ResidencySet{}, failed("make a residency set", e)
	}
	return ResidencySet{object{r}}, nil
}

// AddBuffer adds a buffer.
func (r ResidencySet) AddBuffer(b Buffer) { messages.addAllocation.send(r.id, b.id) }

// AddIndirect adds an indirect command buffer, and says whether the set accepts it.
func (r ResidencySet) AddIndirect(i Indirect) bool { return r.addIfAllocation(i.id) }

// AddPipeline adds a pipeline if the system treats pipelines as allocations (macOS 26), and says whether it
// does.
func (r ResidencySet) AddPipeline(p Pipeline) bool { return r.addIfAllocation(p.id) }

// addIfAllocation adds an object that conforms to MTLAllocation (rule 7). Earlier systems' pipelines answer
// allocatedSize without being allocations, and a set with one faults in the driver.
func (r ResidencySet) addIfAllocation(o ID) bool {
	protocol := functions.getProtocol("MTLAllocation")
	if protocol == 0 || !messages.conformsTo.send(o, protocol) {
		return false
	}
	messages.addAllocation.send(r.id, o)
	return true
}

// Commit applies the additions to the set.
func (r ResidencySet) Commit() { messages.residencyCommit.send(r.id) }

// Request makes the set resident. The system may page it out once it is idle.
func (r ResidencySet) Request() { messages.requestResidency.send(r.id) }

// End allows the system to page the set out.
func (r ResidencySet) End() { messages.endResidency.send(r.id) }
