package mtl

// How a resource is used (MTLResourceUsage).
const (
	UsageRead      = 1
	UsageReadWrite = 1 | 2
)

// dispatchConcurrent is MTLDispatchTypeConcurrent: the dispatches of an encoder
// may overlap unless a barrier keeps them apart.
const dispatchConcurrent = 1

const barrierScopeBuffers = 1 // MTLBarrierScopeBuffers

// statusCompleted is MTLCommandBufferStatusCompleted.
const statusCompleted = 4

// Queue runs command buffers in order.
type Queue struct{ object }

// NewQueue makes a queue.
func (d Device) NewQueue() (Queue, error) {
	q := messages.newQueue.send(d.id)
	if q == 0 {
		return Queue{}, failed("make a command queue", 0)
	}
	return Queue{object{q}}, nil
}

// AddResidency keeps a set resident for all command buffers of the queue.
func (q Queue) AddResidency(r ResidencySet) { messages.queueAddResidency.send(q.id, r.id) }

// RemoveResidency undoes AddResidency.
func (q Queue) RemoveResidency(r ResidencySet) { messages.queueRemoveResidency.send(q.id, r.id) }

// NewCommands starts a command buffer that outlives the pool.
func (q Queue) NewCommands() (Commands, error) {
	c := messages.queueCommands.send(q.id)
	if c == 0 {
		return Commands{}, failed("make a command buffer", 0)
	}
	return Commands{object{messages.retain.send(c)}}, nil
}

// Commands is a command buffer.
type Commands struct{ object }

// Encoder starts the encoding of dispatches that may overlap.
func (c Commands) Encoder() (Encoder, error) {
	e := messages.newEncoder.send(c.id, dispatchConcurrent)
	if e == 0 {
		return Encoder{}, failed("make a compute encoder", 0)
	}
	return Encoder{e}, nil
}

// Commit hands the commands to the GPU.
func (c Commands) Commit() { messages.commit.send(c.id) }

// Seconds is how long the GPU was busy with the commands, once they are done.
func (c Commands) Seconds() float64 {
	return messages.gpuEnd.send(c.id) - messages.gpuStart.send(c.id)
}

// Encoder writes dispatches into a command buffer. It is valid until the pool ends.
type Encoder struct{ id ID }

// SetPipeline chooses the kernel of the dispatches that follow.
func (e Encoder) SetPipeline(p Pipeline) { messages.setPipeline.send(e.id, p.id) }

// SetBuffer binds a buffer from offset on to argument index.
func (e Encoder) SetBuffer(b Buffer, offset uint64, index int) {
	messages.setBuffer.send(e.id, b.id, offset, uint64(index))
}

// Dispatch launches groups threadgroups.
func (e Encoder) Dispatch(groups, threads GridSize) { messages.dispatch.send(e.id, groups, threads) }

// Barrier makes later dispatches of the encoder wait for all earlier ones, and see what these have written to
// buffers.
func (e Encoder) Barrier() { messages.barrier.send(e.id, barrierScopeBuffers) }

// Use declares buffers to which only an indirect command buffer refers. They are made resident, and command
// buffers that write them run in order.
func (e Encoder) Use(buffers []Buffer, usage uint64) {
	if len(buffers) == 0 {
		return
	}
	ids := make([]ID, len(buffers))
	for i, b := range buffers {
		ids[i] = b.id
	}
	messages.useResources.send(e.id, idList(&ids[0]), uint64(len(ids)), usage)
}

// Execute runs n commands of an indirect command buffer, beginning with command from.
func (e Encoder) Execute(i Indirect, from, n int) {
	messages.execute.send(e.id, i.id, span{uint64(from), uint64(n)})
}

// End closes the encoder.
func (e Encoder) End() { messages.endEncoding.send(e.id) }
