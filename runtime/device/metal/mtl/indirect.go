package mtl

import "fmt"

// commandConcurrentDispatch is MTLIndirectCommandTypeConcurrentDispatch.
const commandConcurrentDispatch = 1 << 5

// Indirect is an indirect command buffer: dispatches that are recorded once.
type Indirect struct{ object }

// NewIndirect allocates an indirect command buffer for a number of commands, each with at most bindings
// buffers. Every command sets its own pipeline and buffers: the default inherit flags fault on some GPUs.
func (d Device) NewIndirect(commands, bindings int) (Indirect, error) {
	descriptor := object{messages.newIndirectDescriptor.send()}
	defer descriptor.Release()
	messages.commandTypes.send(descriptor.id, commandConcurrentDispatch)
	messages.inheritBuffers.send(descriptor.id, false)
	messages.inheritPipeline.send(descriptor.id, false)
	messages.maxBindCount.send(descriptor.id, uint64(bindings))
	i := messages.newIndirect.send(d.id, descriptor.id, uint64(commands), StorageShared)
	if i == 0 {
		return Indirect{}, fmt.Errorf("cannot make an indirect command buffer of %d commands", commands)
	}
	return Indirect{object{i}}, nil
}

// At is command index. It is valid until the pool ends.
func (i Indirect) At(index int) Command {
	return Command{messages.commandAt.send(i.id, uint64(index))}
}

// Command is one dispatch of an Indirect.
type Command struct{ id ID }

// SetPipeline sets the kernel.
func (c Command) SetPipeline(p Pipeline) { messages.commandPipeline.send(c.id, p.id) }

// SetBuffer binds a buffer, from offset on, to argument index. The offset is stored as a uint32.
func (c Command) SetBuffer(b Buffer, offset uint64, index int) {
	messages.commandBuffer.send(c.id, b.id, offset, uint64(index))
}

// Barrier makes the command wait for all commands before it. It must be called before Dispatch.
func (c Command) Barrier() { messages.commandBarrier.send(c.id) }

// Dispatch completes the command with its number of threadgroups.
func (c Command) Dispatch(groups, threads GridSize) {
	messages.commandDispatch.send(c.id, groups, threads)
}
