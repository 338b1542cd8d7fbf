package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"mla/runtime/device"
	"mla/runtime/doctor/fake"
	"mla/runtime/plan"
)

// fakeSampler is a fake.Runner that also picks: the token that follows. It does
// work as soon as it is asked, as a GPU may.
type fakeSampler struct {
	*fake.Runner
	refuse  error // of Begin
	last    *plan.Row
	picked  []int32
	fetched int
	begins  int
	ends    int
	failAt  int // the pick that fails, from 1; 0: none
	noneAt  int // the pick that finds no token
	most    int // tokens that were in flight together
}

func (f *fakeSampler) Replay(rows []plan.Row, wanted []int) ([]float32, error) {
	s := rows[0]
	out, err := f.Runner.Replay(rows, wanted)
	if f.last = nil; err == nil && wanted != nil {
		f.last = &s
	}
	return out, err
}

func (f *fakeSampler) Begin(*device.Sampling) error {
	if f.refuse != nil {
		return f.refuse
	}
	if f.last == nil {
		return errors.New("fake: no logits to pick from")
	}
	f.begins++
	f.picked, f.fetched = nil, 0
	return nil
}

func (f *fakeSampler) Ahead(n int) error {
	for range n {
		if len(f.picked) > 0 && f.picked[len(f.picked)-1] >= 0 {
			pos := f.last.Pos + 1
			if _, err := f.Replay([]plan.Row{{Token: uint32(f.picked[len(f.picked)-1]), Pos: pos, NKV: pos + 1, Table: f.last.Table}}, device.All(1)); err != nil {
				return err
			}
		}
		f.picked = append(f.picked, int32((f.last.Token+1)%fakeVocab))
		if len(f.picked) == f.noneAt {
			f.picked[len(f.picked)-1] = -1
		}
	}
	f.most = max(f.most, len(f.picked)-f.fetched)
	return nil
}

func (f *fakeSampler) Next() (int32, error) {
	if f.fetched++; f.fetched > len(f.picked) {
		return 0, errors.New("fake: nothing was asked for")
	}
	if f.fetched == f.failAt {
		return 0, errLost
	}
	return f.picked[f.fetched-1], nil
}

func (f *fakeSampler) End() error {
	f.ends++
	f.last = nil
	return nil
}

var errLost = errors.New("lost")

// portable is greedy, and counts draws.
type portable struct {
	greedy
	draws int
}

func (p *portable) Next(logits []float32) int32 { p.draws++; return p.greedy.Next(logits) }
func (p *portable) Skip()                       { p.draws++ }
func (p *portable) Sampling() *device.Sampling  { return &device.Sampling{} }

// TestGenerateAhead wants the same of every size of unit as without: tokens,
// reason, timeline, what the sampler was told, and what a second request gives.
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
			f := &fakeSampler{Runner: fake.New(fakeVocab, device.Config{Context: tt.context})}
			s := only(f, tt.context)
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
			if f.begins != f.ends || (f.begins > 0) != (unit > 0 && tt.req.Max != 0) || f.most > 2*unit {
				t.Errorf("%s, units of %d: %d chains begun, %d ended, %d tokens in flight", name, unit, f.begins, f.ends, f.most)
			}
		}
	}
}

// TestAheadStaysOnTheHost has parameters that the device refuses, and a sampler
// that it does not know.
func TestAheadStaysOnTheHost(t *testing.T) {
	f := &fakeSampler{Runner: fake.New(fakeVocab, device.Config{Context: 16}), refuse: fmt.Errorf("%w: too long a window", device.ErrSampling)}
	s := only(f, 16)
	for _, sampler := range []Sampler{&portable{}, &greedy{}} {
		res, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 3, Sampler: sampler, Ahead: 2}, func(int32) bool { return true })
		if err != nil || !slices.Equal(res.Tokens, []int32{3, 4, 5}) || f.begins != 0 {
			t.Errorf("%T: %+v, %v, %d chains", sampler, res, err, f.begins)
		}
	}
	f.refuse = errLost
	if _, err := s.Generate(context.Background(), Request{Prompt: []int32{1, 2}, Max: 3, Sampler: &portable{}, Ahead: 2}, nil); !errors.Is(err, errLost) {
		t.Errorf("a device that fails: %v", err)
	}
}

// TestAheadEnds ends chains with tokens in flight: by cancelling, by a failure of
// the device, and by logits that allow no token.
func TestAheadEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		fake   fakeSampler
		reason Reason
		want   error
	}{
		"cancel":  {fakeSampler{}, ReasonCancel, context.Canceled},
		"failure": {fakeSampler{failAt: 4}, ReasonError, errLost},
		"none":    {fakeSampler{noneAt: 4}, ReasonError, nil},
	} {
		for unit := 1; unit < 6; unit++ {
			f := tt.fake
			f.Runner = fake.New(fakeVocab, device.Config{Context: 16})
			s := only(&f, 16)
			ctx, cancel := context.WithCancel(context.Background())
			sampler := &portable{}
			res, err := s.Generate(ctx, Request{Prompt: []int32{1, 2}, Max: 12, Sampler: sampler, Ahead: unit}, func(id int32) bool {
				if name == "cancel" && id == 5 {
					cancel()
				}
				return true
			})
			cancel()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || res.Reason != tt.reason || !slices.Equal(res.Tokens, []int32{3, 4, 5}) ||
				!slices.Equal(s.Tokens(), []int32{1, 2, 3, 4, 5}) || f.ends != 1 || s.Logits() != nil {
				t.Errorf("%s, units of %d: %+v, %v, timeline %d", name, unit, res, err, s.Tokens())
			}
		}
	}
}
