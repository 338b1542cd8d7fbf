package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/text/sample"
)

var errLost = errors.New("lost")

// portable is a greedy sampler that counts draws.
type portable struct {
	greedy
	draws int
}

func (p *portable) Next(logits []float32) int32 { p.draws++; return p.greedy.Next(logits) }
func (p *portable) Skip()                       { p.draws++ }
func (p *portable) Sampling() *device.Sampling  { return &device.Sampling{} }

// TestGenerateAhead checks that units of every size have the same results as single steps: tokens, reason,
// timeline, the tokens that the sampler accepted, and the answer to a second request.
func TestGenerateAhead(t *testing.T) {
	stop := func(id int32) bool { return id == 5 }
	for name, tt := range map[string]struct {
		context int
		req     Request
		emit    func(int32) bool
	}{
		"length":           {16, Request{Max: 3}, nil},
		"longer":           {40, Request{Max: 30}, nil},
		"none":             {16, Request{Max: 0}, nil},
		"context":          {4, Request{Max: -1}, nil},
		"context, exactly": {4, Request{Max: 3}, nil},
		"context, full":    {2, Request{Max: -1}, nil},
		"stop token":       {16, Request{Max: -1, Stop: stop}, nil},
		"receiver":         {16, Request{Max: -1}, func(id int32) bool { return id != 4 }},
	} {
		var want string
		for unit := range 7 {
			s, f := newFake(tt.context)
			sampler := &portable{}
			var told string
			for _, extra := range [][]int32{nil, {9}} { // the second prompt may be one too long
				req := tt.req
				req.Prompt, req.Sampler, req.Ahead = append([]int32{1, 2}, extra...), sampler, unit
				res, err := s.Generate(context.Background(), req, func(id int32) bool { return tt.emit == nil || tt.emit(id) })
				told += fmt.Sprintln(res.Tokens, res.Reason, res.Reused, res.Prompt.Tokens, res.Decode.Tokens, err, s.Tokens(), sampler.accepted, sampler.draws)
				if rows := f.Tokens(0, len(s.Tokens())); !slices.Equal(rows, s.Tokens()) {
					t.Errorf("%s, units of %d: cache rows %d for timeline %d", name, unit, rows, s.Tokens())
				}
			}
			if unit == 0 {
				want = told
			}
			if told != want {
				t.Errorf("%s, units of %d:\n%sexpected\n%s", name, unit, told, want)
			}
			if goesAhead := unit > 0 && tt.req.Max != 0 && tt.context > 2; (f.Ahead > 0) != goesAhead || f.Most > 2*unit {
				t.Errorf("%s, units of %d: %d steps ahead, %d together", name, unit, f.Ahead, f.Most)
			}
		}
	}
}

// TestAheadStaysOnTheHost checks that the host picks if the device cannot pick, or does not know the sampler.
func TestAheadStaysOnTheHost(t *testing.T) {
	for _, sampler := range []Sampler{&portable{}, &greedy{}} {
		s, f := newFake(16)
		_, f.NoPicks = sampler.(Portable)
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 3, Sampler: sampler, Ahead: 2}, func(int32) bool { return true })
		if err != nil || !slices.Equal(res.Tokens, []int32{3, 4, 5}) || f.Picked != 0 {
			t.Errorf("%T: %+v, %v, %d tokens picked by the device", sampler, res, err, f.Picked)
		}
	}
}

// TestAheadOfPenalties checks that the device picks token by token if the next pick depends on the last one,
// and that the text is the same as the host's.
func TestAheadOfPenalties(t *testing.T) {
	var texts [2][]int32
	for ahead := range texts {
		p := drawn(3)
		p.FrequencyPenalty, p.RepeatLastN = 2, 5
		sampler, err := sample.New(p)
		if err != nil {
			t.Fatal(err)
		}
		s, f := newFake(64)
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 50, Sampler: sampler, Ahead: 4 * ahead}, func(int32) bool { return true })
		if err != nil || f.Ahead > 0 || f.Picked != 49*ahead {
			t.Errorf("%v; %d steps ahead, %d tokens picked by the device", err, f.Ahead, f.Picked)
		}
		texts[ahead] = res.Tokens
	}
	if !slices.Equal(texts[0], texts[1]) {
		t.Errorf("the device picks %d; the host %d", texts[1], texts[0])
	}
}

// failing is a fake.Runner in which one step fails or finds no token.
type failing struct {
	*fake.Runner
	failAt, noneAt int // step, from 1; 0: none
	steps          int
}

func (f *failing) Next() ([]int32, error) {
	picked, err := f.Runner.Next()
	switch f.steps++; f.steps {
	case f.failAt:
		return nil, errLost
	case f.noneAt:
		picked[0] = -1
	}
	return picked, err
}

// TestAheadEnds checks texts that end with steps in flight: by cancelling, by a failure of the device, and by
// logits that allow no token.
func TestAheadEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		fake   failing
		reason Reason
		want   error
	}{
		"cancel":  {failing{}, ReasonCancel, context.Canceled},
		"failure": {failing{failAt: 2}, ReasonError, errLost},
		"none":    {failing{noneAt: 2}, ReasonError, nil},
	} {
		for unit := 1; unit < 6; unit++ {
			f := tt.fake
			f.Runner = fake.New(fakeVocab, device.Config{Context: 16})
			s := only(&f, 16)
			ctx, cancel := context.WithCancel(context.Background())
			res, err := s.Generate(ctx, Request{Prompt: []int32{1, 2}, Max: 12, Sampler: &portable{}, Ahead: unit}, func(id int32) bool {
				if name == "cancel" && id == 5 {
					cancel()
				}
				return true
			})
			cancel()
			timeline := []int32{1, 2, 3, 4, 5}
			if tt.fake.failAt > 0 { // that would have run the last token
				timeline = timeline[:4]
			}
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || res.Reason != tt.reason || !slices.Equal(res.Tokens, []int32{3, 4, 5}) ||
				!slices.Equal(s.Tokens(), timeline) || s.Logits() != nil {
				t.Errorf("%s, units of %d: %+v, %v, timeline %d", name, unit, res, err, s.Tokens())
			}
		}
	}
}
