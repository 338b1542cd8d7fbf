// Package device is the interface between the engine and the devices that replay plans. A Device takes a
// bundle bound to a file's weights, records its dispatch sequences once, and replays them for every token of
// every session.
//
// # Sampling on the device
//
// Bundle.Pick has two further dispatches. One applies bias and penalties; the other chooses a token as
// runtime/text/sample does, and writes the next token's row. They pick for up to 16 rows of one replay, of
// any sessions (Picker). So the host receives up to 16 ids instead of 16 vectors of logits. DRY, XTC and
// mirostat run on the host only; for them, sample.Sampler.Sampling is nil.
//
// Each pick comes with its parameters, the number of its draw, the tokens whose logits change, and a bit mask
// if not all tokens are allowed. For rows after drafts it has the state that the sampler will have once it
// has accepted the drafts (Sampling.After).
//
// The kernel that picks also advances the pick to its next draw, and its row to the next token. So a device
// can run the rows of the last Pick again without the host, several steps per submission (Picker.Continue);
// Loop keeps the counts for both GPUs. This serves samplers whose next choice depends only on the logits and
// the draw (Sampling.Repeats). With penalties or a mask, the host makes a new Pick for each step. Steps that
// run after the end of a text write cache rows after the end of the session, which later rows overwrite.
package device

import (
	"errors"

	"mla/runtime/plan"
	"mla/runtime/quant"
)

// MappedAlign is the page size of Apple Silicon, in bytes. Memory that a GPU uses in place begins and ends at
// a multiple of it, also on systems with smaller pages.
const MappedAlign = 16384

// WeightAlign divides the place of every weight, in bytes. Kernels choose the width of their loads by it and
// by the length of a row. A device copies a weight that is not aligned in its file.
const WeightAlign = 16

// Model is a bundle bound to the weights of one file.
type Model struct {
	Bundle *plan.Bundle
	// Regions are the memory that weights live in: mapped files (zero-copy)
	// and converted copies. They stay valid until the Runner is closed.
	Regions [][]byte
	// Mapped is the number of regions that are mapped files; they come first. Each begins at a multiple of
	// MappedAlign and owns its address space up to the next multiple.
	Mapped int
	// Weights[i][l] is Bundle.Weights[i] in the l-th layer that has it; l is 0 where the weight belongs to no
	// layer.
	Weights [][]Weight
	// RopeFactors divides the bundle's rotary frequencies.
	RopeFactors RopeFactors
}

// ErrNewProcess is in the chain of an error after which only another process may get the device to work.
var ErrNewProcess = errors.New("only a new process may get the device to work")

// ErrReopen is in the chain of an error after which the device may work again, once its runner is closed and
// the model is loaded anew.
var ErrReopen = errors.New("the device has to be opened anew")

// Config is the parameters of a recording.
type Config struct {
	Context int        // tokens of the longest session
	Pages   int        // pages of every latent cache, for all sessions; 0: as many as one session of Context tokens needs
	Tables  int        // block tables: sessions that can run concurrently; 0: 1
	KV      quant.Type // one of the model's CacheTypes
	Width   int        // most rows of a replay; 0: 1. Sequences that are wider than necessary for this are not loaded
	Threads int        // CPU workers; 0: one per core
	Int8    bool       // a device that is an Int8er rounds the inputs of mat-vecs to signed bytes
	// CacheRAM is the most bytes of host memory for saved states of a model with linear attention, which
	// later prompts with the same beginning use. 0: enough for eight copies per session; negative: none.
	CacheRAM int64
	// Progress, if not nil, is called while Load copies weights to a device with
	// memory of its own: bytes copied, and bytes in all.
	Progress func(done, total int64)
}

// Device opens runners.
type Device interface {
	Name() string
	// Class is the device's class, one of plan.Classes; "": none.
	Class() string
	// Takes is the memory in bytes that Load allocates for a layout, up to some KiB. Weights are not
	// included.
	Takes(l *Layout) int64
	// Load brings a model's weights to the device, once for all sessions, allocates caches and buffers,
	// compiles the kernels that the model needs, and records its sequences. It returns a VariantError for
	// types without a variant.
	Load(m *Model, cfg Config) (Runner, error)
}

// Separate is a Device that may have memory of its own. If it has, Load copies the weights to it and
// allocates caches and buffers in it, and fails if they do not fit. The host then needs no memory for them.
type Separate interface {
	Device
	OwnMemory() bool
}

// Limited is a Device that knows how much memory it has for models.
type Limited interface {
	Device
	// Free is that memory in bytes before a model is loaded; 0: unknown.
	Free() int64
}

// Int8er is a Device that may round the inputs of mat-vecs to signed bytes, with one scale for every 32 of
// them. That is faster and less exact.
type Int8er interface {
	Device
	// Int8 returns an error that says why the device cannot do this for a bundle; nil: it can.
	Int8(b *plan.Bundle) error
}

// Runner is a loaded model. It replays the recorded sequences for rows of any sessions. A session is known to
// it by a block table and the pages in this table.
type Runner interface {
	// Assign makes pages the entries of a block table from entry first on, for the cache rows of positions
	// first*plan.PageRows and up. Later entries of the table lose their pages. A page may be in several
	// tables, but only rows of one of them may write to it.
	Assign(table, first int, pages []uint32) error
	// CopyRows copies the first n cache rows of a page to another page, in all layers.
	CopyRows(from, to uint32, n int) error
	// PageBytes is the size in bytes of a page over all layers: [layers][plan.PageRows] cache rows.
	PageBytes() int
	// ReadPage copies a page from the device to dst, which has PageBytes bytes, after all rows that were run
	// before.
	ReadPage(page uint32, dst []byte) error
	// WritePage copies src, which has PageBytes bytes, to a page of the device, before rows that are run
	// later. The caller may reuse src at once.
	WritePage(page uint32, src []byte) error
	// Replay runs rows of any sessions in parallel; rows of one session must be consecutive positions, in
	// order. It takes the narrowest sequence that holds the rows. wanted lists the indices of the rows whose
	// logits are computed, rising, at most as many as Wanted returns. Without any, the dispatches from the
	// sequence's Head on are left out and the result is nil. The result is [len(wanted)][VocabSize] and valid
	// until the next Replay.
	Replay(rows []plan.Row, wanted []int) ([]float32, error)
	// Width is the most rows of a Replay.
	Width() int
	// Wanted returns the maximum length of wanted in a Replay of the given number of rows: all rows of a batch, a
	// few of a prompt.
	Wanted(rows int) int
	// Dispatches is the number of dispatches that a full Replay of one row launches.
	Dispatches() int
	// Bytes is the memory that the runner allocated, weights not included.
	Bytes() int64
	// Diagnostics returns what the runner can measure of itself.
	Diagnostics() Diagnostics
	Close() error
}
