package metal

import (
	"time"

	"mla/runtime/device"
	"mla/runtime/device/chips"
	"mla/runtime/plan"
)

// fullBudget is the longest predicted time of a command buffer. The system ends commands that run too long,
// and documents no limit (rule 27); the shortest command buffers that people saw ended took a few hundred
// milliseconds. So work of many rows is submitted in command buffers within a budget. A dispatch that would
// take most of a budget is cut, if its kernel allows it.
var fullBudget = 150 * time.Millisecond

// chipOf returns the speed of a GPU's chip. Tests replace it.
var chipOf = chips.Of

const (
	// leastBudget is about a hundred times the fixed cost of a command buffer.
	leastBudget = 5 * time.Millisecond
	// dispatchShare is the part of a command buffer that a dispatch may take: 50 ms of a full budget.
	dispatchShare = 3
	// beginShare is the part of the budget for the first pieces, before any time was measured.
	beginShare = 3
)

const (
	// reach is the assumed share of the chip's published operations and bytes per second, until times were
	// measured. Tuned kernels reach 0.6 to 0.7.
	reach = 0.5
	// floatProducts is how many products of halves one product of floats costs, in kernels of several rows
	// that are not for Apple's GPUs. Kernels for Apple's GPUs multiply floats directly.
	floatProducts = 3
	// telling is the shortest time from which the pace is updated. Shorter times are mostly the start of the
	// commands.
	telling = 2 * time.Millisecond
)

// pace predicts how long commands take, and bounds how long they may take.
type pace struct {
	flops, bytes float64       // per second, as predicted
	slower       float64       // measured time divided by predicted time
	known        bool          // some time was measured
	budget       time.Duration // of a command buffer
}

// newPace returns the pace of a GPU before any measurement.
func newPace(gpu string, b *plan.Bundle, budget time.Duration) pace {
	chip := chipOf(gpu)
	p := pace{flops: reach * chip.TFlops * 1e12, bytes: reach * chip.GBs * 1e9, slower: 1, budget: budget}
	p.flops /= float64(products(b))
	return p
}

// products is how many products of the matrix unit one product takes.
func products(b *plan.Bundle) int64 {
	if b.Activations == plan.ElemF32 && b.Class != plan.ClassApple {
		return floatProducts
	}
	return 1
}

// of predicts the time of a command for a load.
func (p *pace) of(c *command, l device.Load) time.Duration {
	l.Rows = min(l.Rows, int64(max(c.Kernel.Width, 1))) // the head runs for fewer rows than the layers
	flops, bytes := c.work.Of(l)
	return seconds(p.slower * max(float64(flops)/p.flops, float64(bytes)/p.bytes))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// buffer is the time that a command buffer may take.
func (p *pace) buffer() time.Duration {
	if !p.known {
		return p.budget / beginShare
	}
	return p.budget
}

// dispatch is the time that a dispatch may take.
func (p *pace) dispatch() time.Duration { return p.buffer() / dispatchShare }

// measured updates the pace by the time that the GPU took for predicted work. Kernels differ, so a slower
// time counts in full, and a faster one by half.
func (p *pace) measured(predicted, took time.Duration) {
	if predicted <= 0 || took <= 0 || max(predicted, took) < telling {
		return
	}
	ratio := p.slower * float64(took) / float64(predicted)
	p.slower = min(max(ratio, (p.slower+ratio)/2, 0.1), 1000)
	p.known = true
}

// halve halves the budget after the system has ended commands.
func (p *pace) halve() { p.budget = max(p.budget/2, leastBudget) }
