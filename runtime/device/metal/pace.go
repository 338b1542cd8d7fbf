package metal

import (
	"time"

	"mla/runtime/device"
	"mla/runtime/device/chips"
	"mla/runtime/plan"
)

// Commands that run long are ended by the system, which documents no limit (rule 27). So work
// of many rows goes to the GPU in command buffers that are predicted to take no longer than a
// budget, and a dispatch that would take most of one is made several where its kernel allows it.
// fullBudget is below the few hundred milliseconds of the shortest buffers that people saw ended.
var fullBudget = 150 * time.Millisecond

// chipOf is what a GPU is taken to do.
var chipOf = chips.Of

const (
	// leastBudget is some hundred times what a command buffer costs in addition.
	leastBudget = 5 * time.Millisecond
	// dispatches get a third of a command buffer: 50 ms of a full budget.
	dispatchShare = 3
	// beginShare is the part of the budget for the first pieces, whose time nobody knows yet.
	beginShare = 3
)

const (
	// reach is the part of the operations and bytes of a chip's data sheet that kernels are
	// taken to reach until they were measured. Tuned kernels reach 0.6 to 0.7.
	reach = 0.5
	// floatProducts is how many products of halves a product of floats is, in kernels of several rows
	// that are not for Apple's GPUs: those multiply floats as they are.
	floatProducts = 3
	// telling is the shortest time that says something about the speed: what is shorter is
	// mostly the start of the commands.
	telling = 2 * time.Millisecond
)

// pace predicts how long commands take, and says how long they may.
type pace struct {
	flops, bytes float64       // per second, as predicted
	slower       float64       // measured time for a predicted second
	known        bool          // something was measured
	budget       time.Duration // of a command buffer
}

// newPace is that of a GPU before anything was measured.
func newPace(gpu string, b *plan.Bundle, budget time.Duration) pace {
	chip := chipOf(gpu)
	p := pace{flops: reach * chip.TFlops * 1e12, bytes: reach * chip.GBs * 1e9, slower: 1, budget: budget}
	p.flops /= float64(products(b))
	return p
}

// products is how many the matrix unit makes of one.
func products(b *plan.Bundle) int64 {
	if b.Activations == plan.ElemF32 && b.Class != plan.ClassApple {
		return floatProducts
	}
	return 1
}

// of predicts a command for a load.
func (p *pace) of(c *command, l device.Load) time.Duration {
	l.Rows = min(l.Rows, int64(max(c.Kernel.Width, 1))) // the head has fewer than the layers
	flops, bytes := c.work.Of(l)
	return seconds(p.slower * max(float64(flops)/p.flops, float64(bytes)/p.bytes))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// buffer is how long a command buffer may take.
func (p *pace) buffer() time.Duration {
	if !p.known {
		return p.budget / beginShare
	}
	return p.budget
}

// dispatch is how long a dispatch may take.
func (p *pace) dispatch() time.Duration { return p.buffer() / dispatchShare }

// measured notes how long the GPU took for what was predicted. Kernels differ: what is slower
// counts at once, what is faster by halves.
func (p *pace) measured(predicted, took time.Duration) {
	if predicted <= 0 || took <= 0 || max(predicted, took) < telling {
		return
	}
	ratio := p.slower * float64(took) / float64(predicted)
	p.slower = min(max(ratio, (p.slower+ratio)/2, 0.1), 1000)
	p.known = true
}

// halve is for commands that the system has ended.
func (p *pace) halve() { p.budget = max(p.budget/2, leastBudget) }
