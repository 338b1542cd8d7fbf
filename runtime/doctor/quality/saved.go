package quality

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"mla/runtime/system/recordfile"
)

// kind describes the files of saved logits.
var kind = recordfile.Kind{Magic: [8]byte([]byte("MLALOGIT")), Version: 1, Name: "a file of saved logits", Each: eachBytes}

// eachBytes bounds the size of a header for each position that counts: the header has the tokens of the text,
// about half of which count.
const eachBytes = 64

// Header describes the run whose logits a file holds. The model and the text must be equal to those of a run
// that is compared with it.
type Header struct {
	Model   string  `json:"model"` // the model's name, regardless of the types of its weights
	Made    string  `json:"made"`  // the program that wrote the file, for people
	Vocab   int     `json:"vocab"`
	Context int     `json:"context"`
	Tokens  []int32 `json:"tokens"` // as in Text
}

// NewHeader returns the header for a text.
func NewHeader(model, made string, vocab int, t *Text) Header {
	return Header{model, made, vocab, t.Context, t.Tokens}
}

func (h *Header) text() *Text { return &Text{h.Tokens, h.Context} }

// differs returns why the logits saved under another header are not comparable with this run's; "": they are.
func (h *Header) differs(saved *Header) string {
	made := "(made by " + saved.Made + ")"
	switch {
	case saved.Model != h.Model || saved.Vocab != h.Vocab:
		return "it has the logits of another model " + made
	case saved.Context != h.Context:
		return fmt.Sprintf("its chunks have %d tokens, not %d", saved.Context, h.Context)
	case len(saved.Tokens) != len(h.Tokens):
		return fmt.Sprintf("its text has %d tokens, not %d", len(saved.Tokens), len(h.Tokens))
	}
	for i, token := range saved.Tokens {
		if token != h.Tokens[i] {
			return fmt.Sprintf("its text is another: token %d is %d, not %d", i, token, h.Tokens[i])
		}
	}
	return ""
}

// Saved is a file of logits that a Meter writes.
type Saved struct{ file *recordfile.Writer }

// Save begins a file for the logits of all positions of the header's text. The caller must end with Commit or
// Abort. Abort after Commit does nothing.
func Save(path string, h Header) (*Saved, error) {
	w, err := recordfile.Create(path, kind, h, h.text().Positions(), rowBytes(h.Vocab))
	if err != nil {
		return nil, err
	}
	return &Saved{w}, nil
}

// Commit completes the file and renames it to its path.
func (s *Saved) Commit() error { return s.file.Commit() }

// Abort removes the file unless it is complete.
func (s *Saved) Abort() { s.file.Abort() }

// Base is a file of saved logits, with the results of a Meter's comparison with them.
type Base struct {
	Comparison
	Made string
	file *recordfile.File
}

// OpenBase opens a file that was saved under the same header. Otherwise the error says what differs.
func OpenBase(path string, h Header) (*Base, error) {
	var saved Header
	ours := kind
	ours.Record = rowBytes(h.Vocab)
	f, err := recordfile.Open(path, ours, &saved)
	if err != nil {
		return nil, err
	}
	reason := h.differs(&saved)
	if reason == "" && (f.RecordBytes() != rowBytes(h.Vocab) || f.Records() != h.text().Positions()) {
		reason = fmt.Sprintf("it has %d rows of %d bytes", f.Records(), f.RecordBytes())
	}
	if reason != "" {
		return nil, errors.Join(&recordfile.DamagedError{Path: path, Reason: reason}, f.Close())
	}
	return &Base{Made: saved.Made, file: f}, nil
}

// Close closes the file.
func (b *Base) Close() error { return b.file.Close() }

// Comparison holds the statistics of the differences between two runs.
type Comparison struct {
	Base  Perplexity // of the saved run
	Ratio Mean       // ln p of the saved run minus this run's: ln of the ratio of the perplexities
	Same  Mean       // 1 where both runs find the same token most likely, else 0
	KL    Mean       // divergence of this run's probabilities from the saved ones, in nats
	each  []float64  // the divergence of each position
}

// add adds a position.
func (c *Comparison) add(p *position) {
	c.Base.Add(-p.base.next)
	c.Ratio.Add(p.base.next - p.lp[p.next])
	c.Same.Add(map[bool]float64{true: 1}[p.best == p.base.best])
	c.KL.Add(p.kl)
	c.each = append(c.each, p.kl)
}

// Quantile returns the divergence that a share of all positions does not exceed; 1 gives the greatest. It is
// NaN without positions.
func (c *Comparison) Quantile(share float64) float64 {
	if len(c.each) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(c.each))
	return sorted[min(max(int(math.Ceil(share*float64(len(sorted))))-1, 0), len(sorted)-1)]
}

// Bin is one bin of a histogram.
type Bin struct {
	Below float64 // upper bound of the bin's divergences; the lower bound is that of the bin before
	Count int
}

// Histogram counts divergences by powers of ten. The first bin holds all below 1e-8, the last one all from 1.
func (c *Comparison) Histogram() []Bin {
	var bins []Bin
	for e := -8; e <= 0; e++ {
		bins = append(bins, Bin{Below: math.Pow10(e)})
	}
	bins = append(bins, Bin{Below: math.Inf(1)})
	for _, kl := range c.each {
		i := slices.IndexFunc(bins, func(b Bin) bool { return kl < b.Below })
		if i < 0 {
			i = len(bins) - 1 // an infinite divergence
		}
		bins[i].Count++
	}
	return bins
}
