package mtl

import "fmt"

const pipelineOptionNone = 0 // MTLPipelineOptionNone

// Library holds compiled kernels.
type Library struct{ object }

// Pipeline is a compiled kernel.
type Pipeline struct{ object }

// PipelineDescriptor is the parameters of a Pipeline.
type PipelineDescriptor struct{ object }

// NewDescriptor describes the pipeline of a kernel function, with or without support for indirect command
// buffers. The grids of a persistent kernel have the size that its pipeline recommends, and from macOS 27 on
// the pipeline is optimised for that (rule 29).
func (l Library) NewDescriptor(function string, indirect, persistent bool) (PipelineDescriptor, error) {
	f := object{messages.newFunction.send(l.id, str(function))}
	if f.Nil() {
		return PipelineDescriptor{}, fmt.Errorf("the library has no kernel %s", function)
	}
	defer f.Release()
	p := PipelineDescriptor{object{messages.newPipelineDescriptor.send()}}
	messages.computeFunction.send(p.id, f.id)
	messages.pipelineLabel.send(p.id, str(function))
	messages.supportIndirect.send(p.id, indirect)
	if m := &messages.persistentKernel; persistent && messages.respondsTo.send(p.id, m.sel) {
		m.send(p.id, true)
	}
	return p, nil
}

// UseArchive makes NewPipeline take the pipeline from the archive if it is there.
func (p PipelineDescriptor) UseArchive(a Archive) {
	messages.binaryArchives.send(p.id, messages.arrayOf.send(a.id))
}

// NewPipeline creates a pipeline, and compiles it for the GPU unless an archive has it.
func (d Device) NewPipeline(p PipelineDescriptor) (Pipeline, error) {
	var e ID
	id := messages.newPipeline.send(d.id, p.id, pipelineOptionNone, nil, &e)
	if id == 0 {
		return Pipeline{}, failed("make a pipeline", e)
	}
	return Pipeline{object{id}}, nil
}

// MaxThreads is the most threads of a threadgroup.
func (p Pipeline) MaxThreads() uint64 { return messages.maxThreads.send(p.id) }

// SimdWidth is the number of threads in a simdgroup.
func (p Pipeline) SimdWidth() uint64 { return messages.executionWidth.send(p.id) }

// AtOnce is how many threadgroups with this number of threads the GPU runs concurrently, as a persistent
// kernel's pipeline reports from macOS 27 on; 0: it does not report it.
func (p Pipeline) AtOnce(threads int) int {
	m := &messages.persistentThreadgroups
	if !messages.respondsTo.send(p.id, m.sel) {
		return 0
	}
	return int(min(m.send(p.id, GridSize{Width: uint64(threads), Height: 1, Depth: 1}), 1<<20))
}

// ThreadgroupMemory is the static threadgroup memory in bytes.
func (p Pipeline) ThreadgroupMemory() uint64 { return messages.threadgroupMem.send(p.id) }

// Archive is a file of compiled pipelines.
type Archive struct{ object }

// NewArchive opens the archive at path, or makes an empty one if path is "".
func (d Device) NewArchive(path string) (Archive, error) {
	descriptor := object{messages.newArchiveDescriptor.send()}
	defer descriptor.Release()
	if path != "" {
		messages.archiveURL.send(descriptor.id, url(path))
	}
	var e ID
	a := messages.newArchive.send(d.id, descriptor.id, &e)
	if a == 0 {
		return Archive{}, failed("open the pipeline archive "+path, e)
	}
	return Archive{object{a}}, nil
}

// Add compiles a pipeline into the archive.
func (a Archive) Add(p PipelineDescriptor) error {
	var e ID
	if !messages.archiveAdd.send(a.id, p.id, &e) {
		return failed("add to the pipeline archive", e)
	}
	return nil
}

// Write writes the archive to a new file.
func (a Archive) Write(path string) error {
	var e ID
	if !messages.archiveSerialize.send(a.id, url(path), &e) {
		return failed("write the pipeline archive "+path, e)
	}
	return nil
}
