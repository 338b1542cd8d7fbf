package scheduler

import (
	"slices"
	"time"

	"mla/runtime/engine"
	"mla/runtime/plan"
)

// run runs the rows of a step, with guesses of what follows where nothing else would use
// their places and they pay.
func (s *Scheduler) run(rows []engine.Row, tasks []*task) (picked [][]int32, err error) {
	quiet := !slices.ContainsFunc(s.active, func(t *task) bool { return t.waits || !t.started() || t.left() > 1 })
	guessing := quiet && s.pays.now(len(rows))
	s.follow(tasks, guessing)
	start := s.now()
	guesses := 0
	if guessing {
		guesses = s.guess(rows, tasks)
	}
	picked, err = s.model.Pick(rows)
	if err == nil && guesses == 0 {
		s.turn.ran(&s.pace, len(rows), s.now().Sub(start))
	}
	if err != nil || !quiet {
		return picked, err
	}
	tokens, took := 0, s.now().Sub(start)
	for _, p := range picked {
		tokens += len(p)
	}
	if guesses > 0 {
		guess, token := s.pays.shares(len(rows), guesses, took)
		for i, t := range tasks {
			t.worth.ran(len(rows[i].Guesses), len(picked[i])-1, guess, token)
		}
	}
	s.pays.ran(len(rows), guesses, tokens, took)
	return picked, nil
}

// follow lets those who are about to guess run what they have missed, unless that takes too long,
// and those who rest miss what comes.
func (s *Scheduler) follow(tasks []*task, guessing bool) {
	for _, t := range tasks {
		f, ok := t.drafter.(engine.Following)
		if !ok {
			continue
		}
		if rest := &t.worth.rest; guessing && rest.left == 0 {
			if _, ok := s.catches.Do(f, s.pays.alone[len(tasks)]/time.Duration(len(tasks)), s.now); !ok {
				rest.left = payRestMost
			}
		}
		f.Rest(t.started() && (s.pays.rest.left > 0 || t.worth.rest.left > 0))
	}
}

// settle lets one who ends run what it has missed, where that is quick: who goes on behind the same
// tokens finds it.
func (s *Scheduler) settle(t *task) {
	if f, ok := t.drafter.(engine.Following); ok && s.failed == nil {
		_, ok := s.catches.Do(f, s.pays.alone[1], s.now)
		f.Rest(!ok)
	}
}

// guess adds guesses to rows, one of each task, as far as there is room, which they share.
func (s *Scheduler) guess(rows []engine.Row, tasks []*task) (n int) {
	room := min(s.width, plan.MaxWanted) - len(rows)
	for i, t := range tasks {
		own := t.guess(room / (len(rows) - i))
		rows[i].Guesses = own
		room, n = room-len(own), n+len(own)
	}
	return n
}

// guess is at most n tokens that may follow, for which the session has pages.
func (t *task) guess(n int) []int32 {
	if t.Max >= 0 {
		n = min(n, t.Max-len(t.result.Tokens)-1)
	}
	n = min(n, t.session.Context()-len(t.text))
	_, alone := t.Sampler.(engine.Portable)
	_, watches := t.Sampler.(engine.Watching)
	if t.drafter == nil || n < 1 || !alone || watches || !t.worth.now() {
		return nil
	}
	list := t.drafter.Propose(t.text, n)
	list = list[:min(n, len(list))]
	if t.session.Reserve(1+len(list)) != nil { // the row alone has its page
		return nil
	}
	t.result.Drafted += len(list)
	return list
}

// pays decides whether guesses are worth their time, of all requests together: steps with them must bring more
// tokens than the time that they take would have brought without.
type pays struct {
	alone        map[int]time.Duration // of a step without guesses, by its rows, running means
	spent, worth time.Duration         // of the last steps with guesses, and of as many tokens without
	steps        int
	rest         rest
}

// The steps that decide, unless the time of so many steps is lost before, in some steps, as one
// may have been slow by chance; and how long guesses are left out if they did not pay: twice as
// long each time. So a text that cannot be guessed loses two to three tokens in a hundred, and
// fewer later on.
const (
	paySteps    = 8
	paySome     = 3
	payLoss     = 2
	payRest     = 128
	payRestMost = 1024
)

// rest is how many steps are left until guesses are tried again.
type rest struct{ left, last int }

// begin rests twice as long as the last time.
func (r *rest) begin() {
	r.last = min(max(2*r.last, payRest), payRestMost)
	r.left = r.last
}

// ran counts a step that brought so many tokens.
func (p *pays) ran(rows, guesses, tokens int, took time.Duration) {
	if guesses == 0 {
		if p.alone == nil {
			p.alone = map[int]time.Duration{}
		}
		if mean := p.alone[rows]; mean == 0 {
			p.alone[rows] = took
		} else {
			p.alone[rows] += (took - mean) / 8
		}
		p.rest.left = max(p.rest.left-1, 0)
		return
	}
	p.steps++
	p.spent += took
	p.worth += p.alone[rows] * time.Duration(tokens) / time.Duration(rows)
}

// now says whether a step of so many rows gets guesses.
func (p *pays) now(rows int) bool {
	if p.rest.left > 0 || p.alone[rows] == 0 {
		return false
	}
	lost := p.spent - p.worth
	if p.steps < paySome || p.steps < paySteps && lost <= payLoss*p.alone[rows] {
		return true
	}
	p.steps, p.spent, p.worth = 0, 0, 0
	if lost > 0 {
		p.rest.begin()
		return false
	}
	p.rest.last = 0
	return true
}

// shares are what a guess has cost in a step, and what a token costs without guesses.
func (p *pays) shares(rows, guesses int, took time.Duration) (guess, token time.Duration) {
	alone := p.alone[rows]
	return max(0, took-alone) / time.Duration(guesses), alone / time.Duration(rows)
}

// worth decides whether the guesses of one request are: what was right of them must have
// saved the time that they all took. So one whose text cannot be guessed leaves the places
// to the others.
type worth struct {
	cost, gain time.Duration
	rounds     int
	rest       rest
}

// ran counts a round with so many guesses, of which some were right.
func (w *worth) ran(guessed, right int, guess, token time.Duration) {
	if guessed == 0 {
		return
	}
	w.cost += guess * time.Duration(guessed)
	w.gain += token * time.Duration(right)
	if w.rounds++; w.rounds < paySome || w.rounds < paySteps && w.cost-w.gain <= payLoss*token {
		return
	}
	if w.cost > w.gain {
		w.rest.begin()
	} else {
		w.rest.last = 0
	}
	w.cost, w.gain, w.rounds = 0, 0, 0
}

// now says whether the request guesses in this round.
func (w *worth) now() bool {
	if w.rest.left == 0 {
		return true
	}
	w.rest.left--
	return false
}
