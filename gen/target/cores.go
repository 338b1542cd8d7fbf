package target

import "mla/runtime/plan"

// cores is the number of cores of a large GPU of the class. One or several threadgroups run on a core at a time.
var cores = table[int]{
	{"", 132, Source{Estimated, "", "2026-11-22", "the number of class nvidia; no device of another class has been measured"}},
	{plan.ClassApple, 80, Source{DataSheet, "M3 Ultra", "2026-11-28", "the largest; others have 8 and more. What follows the GPU at hand asks that: see Attention.PerCore"}},
	{plan.ClassNVIDIA, 132, Source{DataSheet, "NVIDIA H100 and H200", "2026-11-22", "132 streaming multiprocessors"}},
}

// Cores returns the number of cores of a large GPU of the class (NVIDIA: multiprocessors).
func (t Target) Cores() int { return cores.of(t.class).is }

// Share returns the largest number of threadgroups that a core gets if groups threadgroups are spread evenly.
func (t Target) Share(groups int) int { return ceil(groups, t.Cores()) }

// registerFiles is the number of 32-bit registers of a core.
var registerFiles = table[int]{
	{"", 0, Source{Estimated, "Apple GPUs", "2026-11-22", "unknown: see the budgets of attention"}},
	{plan.ClassNVIDIA, 1 << 16, Source{DataSheet, "NVIDIA H100 and H200", "2026-11-22", "65,536 registers of a multiprocessor"}},
}

// Threads returns how many threads with the given number of registers a core can hold, in whole simdgroups; 0
// if that is unknown.
func (t Target) Threads(registers int) int {
	return registerFiles.of(t.class).is / registers / SimdWidth * SimdWidth
}

// Memory is the threadgroup memory of a class, in bytes.
type Memory struct {
	Bytes       int  // largest number that a kernel may declare
	AsyncCopies bool // data can be copied into it without passing through registers
	// PromptSimdgroup is how many bytes a prompt's product takes for each simdgroup if there are AsyncCopies.
	PromptSimdgroup int
	// Batch is how many bytes the threadgroups of a batch's products on one core share if there are
	// AsyncCopies. At most BatchShare threadgroups share them, and one takes at most BatchMost.
	Batch, BatchShare, BatchMost int
}

var memories = table[Memory]{
	{"", Memory{Bytes: ThreadgroupBytes}, Source{DataSheet, "Apple GPUs", "2026-11-20", "32 KiB; copies pass through registers"}},
	{plan.ClassNVIDIA, Memory{Bytes: 227 << 10, AsyncCopies: true, PromptSimdgroup: 18 << 10, Batch: 224 << 10, BatchShare: 4, BatchMost: 144 << 10},
		Source{DataSheet, "NVIDIA H100 and H200", "2026-11-24", "228 KiB of a multiprocessor, 1 KiB of it the system's for each threadgroup; cp.async since Ampere. Registers leave room for twelve simdgroups of a prompt's product"}},
}

// Memory returns the threadgroup memory of the class.
func (t Target) Memory() Memory { return memories.of(t.class).is }

// BatchBytes returns how many bytes of threadgroup memory a threadgroup of a batch's product takes, so that
// all threadgroups of a core run at the same time. groups is the number of threadgroups in all.
func (t Target) BatchBytes(groups int) int {
	m := t.Memory()
	return min(m.Batch/min(t.Share(groups), max(m.BatchShare, 1)), m.BatchMost)
}

// pickThreads are the threads that pick one token of a large vocabulary.
var pickThreads = table[int]{
	{"", 512, Source{Estimated, "Apple GPUs", "2026-11-22", "a threadgroup of 1,024 may have too few registers"}},
	{plan.ClassNVIDIA, 1024, Source{DataSheet, "NVIDIA H100 and H200", "2026-11-24", "all threads of a threadgroup, with 64 registers each"}},
}

// PickThreads returns the number of threads that pick one token of a large vocabulary.
func (t Target) PickThreads() int { return pickThreads.of(t.class).is }

// eagers say whether mat-vecs of one row let the next dispatch begin before they wait for the last one.
var eagers = table[bool]{
	{"", false, Source{Estimated, "", "2026-11-28", "no such model has been measured; GPUs of class apple begin no dispatch early"}},
	{plan.ClassNVIDIA, true, Source{Measured, h200, "2026-11-28", "Q4_0, halves, depth 0 and 32,768, tok/s without and with: Youtu-LLM 1,208 and 1,239, 698 and 708; DeepSeek-V2-Lite 1,141 and 1,163, 723 and 739; GLM-4.7-Flash 659 and 664, 406 and 408"}},
}

// Eager reports whether a mat-vec of one row lets the next dispatch start, and load its weights, before it
// waits for the previous dispatch itself.
func (t Target) Eager() bool { return eagers.of(t.class).is }

func ceil(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceil(a, b) * b }
