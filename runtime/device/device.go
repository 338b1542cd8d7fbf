// Package device is the interface between the engine and whatever replays a
// plan: a Device takes a bundle bound to a file's weights, records its dispatch
// sequence once, and replays it for every token of every session.
//
// # Sampling on the device
//
// Bundle.Pick is two more dispatches: one applies bias and penalties, one chooses as
// runtime/text/sample does and writes the next token's row. They pick for up to 16 rows of one
// replay, of any sessions (Picker): 16 ids come back in place of 16 times the vocabulary. For steps
// of a sampler that only the host knows (DRY, XTC, mirostat) sample.Sampler.Sampling is nil.
//
// Each pick brings its parameters, the number of its
// draw, the tokens whose logits change, and a bit mask where not all tokens are allowed. So what is
// picked after drafts has the state that the sampler has once it has accepted them (Sampling.After).
//
// The kernel that picks also moves the pick to its next draw, and its row to the next token. So a
// device can run the rows of the last Pick again without the host, several steps per submission
// (Picker.Continue); Loop keeps count for both GPUs. That is for samplers whose next choice depends
// on nothing but the logits and the draw (Sampling.Repeats). With penalties or a mask the host makes
// a new Pick for each step. What a step runs after the end of a text is written after the end of its
// timeline, and forgotten.
package device

import (
	"errors"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// MappedAlign is the page size of Apple Silicon, in bytes: memory that a GPU
// uses in place begins and ends at a page, also where the system's are smaller.
const MappedAlign = 16384

// WeightAlign is what the place of every weight is a multiple of, in bytes: kernels
// load as much at a time as it and the length of a row allow. A device copies a
// weight that lies elsewhere in its file.
const WeightAlign = 16

// Model is a bundle bound to the weights of one file.
type Model struct {
	Bundle *plan.Bundle
	// Regions are the memory that weights live in: mapped files (zero-copy)
	// and converted copies. They stay valid until the Runner is closed.
	Regions [][]byte
	// Mapped regions come first: Regions[:Mapped] are mapped files, each of which
	// begins at a multiple of MappedAlign and owns its address space up to one.
	Mapped int
	// Weights[i][l] is Bundle.Weights[i] in the l-th of its layers (l is 0 where the
	// weight belongs to no layer).
	Weights [][]Weight
	// RopeFactors divide the bundle's rotary frequencies.
	RopeFactors RopeFactors
}

// ErrNewProcess says of an error that only another process may get the device to work.
var ErrNewProcess = errors.New("only a new process may get the device to work")

// ErrReopen says of an error that the device may work once its runner was closed and the model is loaded again.
var ErrReopen = errors.New("the device has to be opened anew")

// Config is what a recording is made for.
type Config struct {
	Context int        // tokens of the longest session
	Pages   int        // pages of every latent cache, for all sessions; 0: what one session of Context tokens takes
	Tables  int        // block tables: sessions that can run at a time; 0: 1
	KV      quant.Type // one of the model's CacheTypes
	Width   int        // rows of a replay; 0: 1. Wider sequences than these need are not loaded
	Threads int        // CPU workers; 0: one per core
	Int8    bool       // inputs of mat-vecs are rounded to signed bytes, by a device that is an Int8er
	// CacheRAM is how many bytes of the host's memory the copies of states may take that are kept for texts to come, of
	// a model with states; 0: as many as eight copies for each session take, below 0: none.
	CacheRAM int64
	// Progress, if not nil, is called while Load copies weights to a device with
	// memory of its own: bytes copied, and bytes in all.
	Progress func(done, total int64)
}

// Device opens runners.
type Device interface {
	Name() string
	// Class is which of plan.Classes the device is of; "": of none.
	Class() string
	// Takes is the memory that Load allocates for a layout, weights not included: all of it but
	// for what takes some KiB.
	Takes(l *Layout) int64
	// Load brings a model's weights to the device, once for all sessions, allocates
	// caches and buffers, compiles what the model needs and records the decode
	// sequence. An unsupported variant is a VariantError.
	Load(m *Model, cfg Config) (Runner, error)
}

// Separate is a Device that may have memory of its own. If it has, weights are copied
// there and caches and buffers allocated there: the host needs no memory for them, and
// Load refuses what the device's cannot hold.
type Separate interface {
	Device
	OwnMemory() bool
}

// Limited is a Device that knows how much memory it has for models.
type Limited interface {
	Device
	// Free is that memory in bytes, before a model is loaded; 0: it is not known.
	Free() int64
}

// Int8er is a Device that may round the inputs of mat-vecs to signed bytes, under a scale
// for every 32 of them: quicker and less exact.
type Int8er interface {
	Device
	// Int8 says why the device cannot do that for a bundle; nil: it can.
	Int8(b *plan.Bundle) error
}

// Runner is a loaded model. It replays the recorded sequences for rows of any sessions;
// what belongs to a session is a block table and the pages in it.
type Runner interface {
	// Assign makes pages the entries of a block table from entry first on: the cache
	// rows of positions first*plan.PageRows and up. Entries after those have no page
	// afterwards. A page is in at most one place where it is written to.
	Assign(table, first int, pages []uint32) error
	// CopyRows copies the first n cache rows of a page to another, in all layers.
	CopyRows(from, to uint32, n int) error
	// PageBytes is the size of a page of all layers: [layers][plan.PageRows] cache rows.
	PageBytes() int
	// ReadPage copies a page of the device to dst, which has PageBytes: what the rows
	// that were run before have left there.
	ReadPage(page uint32, dst []byte) error
	// WritePage copies src, which has PageBytes and may be used again afterwards, to a
	// page of the device, before rows that are run later.
	WritePage(page uint32, src []byte) error
	// Replay runs rows of any sessions side by side; those of one session follow each
	// other. It takes the narrowest sequence that holds them. wanted are the rows, in
	// their order and at most as many as Wanted says, after which logits are computed: without
	// any, the dispatches from the sequence's Head on are left out and the result is nil.
	// The slice is [len(wanted)][VocabSize] and valid until the next Replay.
	Replay(rows []plan.Row, wanted []int) ([]float32, error)
	// Width is the most rows of a Replay.
	Width() int
	// Wanted is the most rows, of a Replay of that many, that may be wanted: all of a batch, few of a prompt.
	Wanted(rows int) int
	// Dispatches is the number of dispatches that a full Replay of one row launches.
	Dispatches() int
	// Bytes is the memory that the runner allocated, weights not included.
	Bytes() int64
	// Diagnostics is what the runner can measure of itself.
	Diagnostics() Diagnostics
	Close() error
}
