package engine

import (
	"time"

	"mla/runtime/engine/payoff"
)

// Drafter guesses how a text goes on.
type Drafter interface {
	// Propose returns at most n tokens that may follow the text.
	Propose(text []int32, n int) []int32
}

// Textual is a Drafter that guesses by nothing but the text: it misses nothing of tokens that
// were run without it.
type Textual interface {
	Drafter
	Textual()
}

// Following is a Drafter that runs all tokens of the text itself. After a rest it has to catch up
// with those that came without guesses before it can guess, which is no part of what a guess
// costs: where guesses pay there are no rests.
type Following interface {
	Drafter
	// Rest says whether the tokens that come are run without guesses.
	Rest(rests bool)
	// Missed is how many tokens there are to catch up with.
	Missed() int
	// CatchUp runs the first n of them; the next Propose guesses nothing if the device fails.
	CatchUp(n int)
}

// CatchingUp decides whether a Following catches up: where its layer is a large part of the
// model, as of small ones, that would take more than guesses may cost a text.
type CatchingUp struct {
	each time.Duration // of a token, the last time; 0: not known
}

// A few tokens say what each takes. All may take so small a part of the time of the tokens
// that were missed.
const (
	catchUpFew  = 32
	catchUpPart = 64
)

// Do lets f catch up, where a token of the text takes so long alone; false: it lags, as it
// does where that is 0, not known. It takes time by the clock now.
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
			c.each = 0 // it may have been slow by chance: next time it is found out again
			return took, false
		}
		run(n)
	}
	return took, true
}

// maxDraft is how many tokens are guessed at a time. A replay of that many rows and one
// more takes two to three times as long as that of one.
const maxDraft = 7

// drafted is a source of tokens that runs guesses of what follows in one batch with a token.
// The sampler, or the device in its place, picks every token by the logits after the one
// before, so the text is the same as without guesses: one that is not what is picked is
// forgotten. But logits of several rows are rounded otherwise than those of one, by 1e-5 with
// floats: where two tokens are that close, texts may part.
type drafted struct {
	*Session
	sampler Sampler
	drafter Drafter
	result  *Result
	text    int       // tokens of the timeline that are the text's
	after   []outcome // after the text, and after each of the guesses
	pays    payoff.Steps
	catches CatchingUp
	guesses int           // of the last replay, which pays has not counted yet
	right   int           // of them
	took    time.Duration // that replay
	ahead   int           // tokens that a device picks at a time while guesses rest; 0: none
	loop    *looped       // the source of tokens meanwhile, or nil
	since   time.Time     // when its first token had been run
	rested  int           // its tokens since
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

// run makes a token the text's next: it is the next guess, or it is run with new ones.
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

// count counts the last replay, whose right guesses are all known.
func (d *drafted) count() {
	if d.took > 0 {
		d.pays.Ran(1, d.guesses, 1+d.right, d.took)
	}
	d.guesses, d.right, d.took = 0, 0, 0
}

// follow lets a drafter run the tokens that it has missed. Drafting pauses if that takes too long.
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

// replay runs a token, with guesses of what follows or without.
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

// propose guesses what follows a token, as far as the context allows.
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

// fewResting is for how many tokens at least it is worth it that the device goes on by itself.
const fewResting = 8

// goAhead runs a token and lets the device go on for as long as guesses rest, if it can.
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

// end ends the loop, and drops the guesses after the text.
func (d *drafted) end() error {
	if d.loop != nil {
		d.loop = nil
		d.pays.Ahead(d.rested, time.Since(d.since)) // as tokens come by units, not of each
	}
	if d.text == len(d.tokens) {
		return nil
	}
	return d.rewind(d.text)
}
