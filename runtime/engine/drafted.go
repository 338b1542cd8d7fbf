package engine

import (
	"time"

	"mla/runtime/engine/payoff"
)

// Drafter drafts tokens that may follow a text.
type Drafter interface {
	// Propose returns at most n tokens that may follow the text.
	Propose(text []int32, n int) []int32
}

// Textual is a Drafter that depends only on the text. So it need not be called for every token.
type Textual interface {
	Drafter
	Textual()
}

// Following is a Drafter that runs all tokens of the text itself. After a pause of drafting it first has to
// run the tokens of the pause. That time is not counted as a cost of drafts, as where drafts pay there are no
// pauses.
type Following interface {
	Drafter
	// Rest says whether the next tokens are run without drafts.
	Rest(rests bool)
	// Missed is the number of tokens to catch up with.
	Missed() int
	// CatchUp runs the first n missed tokens. If the device fails, the next Propose returns no drafts.
	CatchUp(n int)
}

// CatchingUp decides whether a Following catches up after a pause. For small models the MTP layer is a large
// part of the model, and catching up may cost more than drafts may cost a text.
type CatchingUp struct {
	each time.Duration // time per token at the last catch-up; 0: unknown
}

// The first probe tokens show how long each takes. Catching up may take only a small part of the time that
// the model took for the missed tokens.
const (
	catchUpFew  = 32
	catchUpPart = 64
)

// Do lets f catch up, and returns the time that it took. alone is the model's time for one token. If ok is
// false, f still misses tokens: it would take too long, or alone is 0 (unknown). now is a clock.
func (c *CatchingUp) Do(f Following, alone time.Duration, now func() time.Time) (took time.Duration, ok bool) {
	if alone == 0 {
		return 0, false
	}
	run := func(n int) {
		start := now()
		f.CatchUp(n)
		spent := now().Sub(start)
		took, c.each = took+spent, max(spent/time.Duration(n), 1)
	}
	if n := f.Missed(); n > 0 && c.each == 0 {
		run(min(n, catchUpFew))
	}
	if n := f.Missed(); n > 0 {
		if c.each*catchUpPart > alone {
			c.each = 0 // it may have been slow by chance, so it is measured again next time
			return took, false
		}
		run(n)
	}
	return took, true
}

// maxDraft is the most drafts at a time. A replay of that many rows and one more takes two to three times as
// long as a replay of one row.
const maxDraft = 7

// drafted is a source of tokens that runs drafts in one batch with a token. The sampler, or the device for
// it, picks every token from the logits of the one before, and drafts that differ from the picks are dropped.
// So the text is the same as without drafts, up to rounding: logits of several rows differ from those of one
// by about 1e-5 in floats, and texts may diverge where two tokens are that close.
type drafted struct {
	*Session
	sampler Sampler
	drafter Drafter
	result  *Result
	text    int       // tokens of the timeline that belong to the text
	after   []outcome // by position: after the text, and after each of the drafts
	pays    payoff.Steps
	catches CatchingUp
	guesses int           // drafts of the last replay, which pays has not counted yet
	right   int           // of these drafts, how many were accepted
	took    time.Duration // time of that replay
	ahead   int           // tokens per unit of work of the device while drafting pauses; 0: the device does not run ahead
	loop    *looped       // the source of tokens during a pause, or nil
	since   time.Time     // when the loop's first token had been run
	rested  int           // tokens of the loop since then
}

func (d *drafted) next() (int32, error) {
	if d.loop != nil {
		return d.loop.next()
	}
	if len(d.after) == 0 || !d.model.holds(d.Session) {
		return 0, errOther
	}
	return d.after[0].next(d.sampler), nil
}

func (d *drafted) length() int { return d.text }

// run makes a token the next one of the text: either it is the next draft, or it is run, with new drafts.
func (d *drafted) run(token int32) error {
	if d.text < len(d.tokens) && d.tokens[d.text] == token {
		d.text++
		d.after = d.after[1:]
		d.result.Accepted++
		d.right++
		return nil
	}
	if d.loop != nil && d.loop.more() {
		d.text, d.rested = d.text+1, d.rested+1
		return d.loop.run(token)
	}
	if err := d.end(); err != nil {
		return err
	}
	d.count()
	if d.pays.Resting() >= fewResting && d.ahead > 0 {
		return d.goAhead(token)
	}
	guesses := d.pays.Now(1) && d.follow()
	if f, ok := d.drafter.(Following); ok {
		f.Rest(d.pays.Resting() > 0)
	}
	return d.replay(token, guesses)
}

// count reports the last replay to pays. All of its accepted drafts are known by now.
func (d *drafted) count() {
	if d.took > 0 {
		d.pays.Ran(1, d.guesses, 1+d.right, d.took)
	}
	d.guesses, d.right, d.took = 0, 0, 0
}

// follow lets the drafter run the tokens that it has missed. If that takes too long, drafting pauses.
func (d *drafted) follow() bool {
	f, ok := d.drafter.(Following)
	if !ok {
		return true
	}
	took, ok := d.catches.Do(f, d.pays.Alone(1), time.Now)
	d.result.Drafts.CatchingUp += took
	if !ok {
		d.pays.Rest()
	}
	return ok
}

// replay runs a token, with or without drafts.
func (d *drafted) replay(token int32, guess bool) error {
	start := time.Now()
	var guesses []int32
	if guess {
		guesses = d.propose(token)
	}
	guessed := time.Now()
	row := Row{Session: d.Session, Token: token, Sampler: d.sampler, Guesses: guesses}
	rows, states := row.guessed(nil, nil)
	out, err := d.model.replay(rows, states)
	if err != nil {
		return err
	}
	d.guesses, d.took = len(guesses), time.Since(start)
	if cost := &d.result.Drafts; len(guesses) > 0 {
		cost.Rounds, cost.Guessing, cost.Running, cost.Alone = cost.Rounds+1, cost.Guessing+guessed.Sub(start), cost.Running+time.Since(guessed), cost.Alone+d.pays.Alone(1)
	}
	d.result.Drafted += len(guesses)
	d.text++
	d.after = out
	return nil
}

// propose drafts tokens after a token, as far as the context allows.
func (d *drafted) propose(token int32) []int32 {
	most := min(maxDraft, d.model.Width()-1, d.model.context-d.text-1)
	if most < 1 {
		return nil
	}
	var known []int32
	for _, t := range d.drafter.Propose(append(d.tokens[:d.text:d.text], token), most) {
		if t < 0 || int(t) >= d.model.vocab {
			break
		}
		known = append(known, t)
	}
	if d.Reserve(1+len(known)) != nil { // the token alone may still fit
		return nil
	}
	return known
}

// fewResting is the shortest rest of a pause for which a loop on the device is worthwhile.
const fewResting = 8

// goAhead runs a token, and starts a loop on the device for the rest of the pause, if the device can.
func (d *drafted) goAhead(token int32) error {
	start := time.Now()
	d.loop = d.looped(d.sampler, d.ahead, d.pays.Resting())
	if err := d.loop.run(token); err != nil {
		return err
	}
	d.text++
	d.after = nil
	d.pays.Ran(1, 0, 1, time.Since(start))
	if d.since, d.rested = time.Now(), 0; d.loop.ahead == nil {
		d.ahead = 0
	}
	return nil
}

// end ends the loop, and removes the drafts after the text.
func (d *drafted) end() error {
	if d.loop != nil {
		d.loop = nil
		d.pays.Ahead(d.rested, time.Since(d.since)) // per unit of work, as tokens arrive by units
	}
	if d.text == len(d.tokens) {
		return nil
	}
	return d.rewind(d.text)
}
