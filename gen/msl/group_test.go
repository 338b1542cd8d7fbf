package msl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/gen/msl/execute"
	"mla/runtime/plan"
)

// TestGroupExperts groups the selections of rows by expert: of all rows, of some and of none; evenly spread,
// and all of the same few experts; with experts that no row selects; and with simdgroups that have no
// selections to read.
func TestGroupExperts(t *testing.T) {
	const experts = 40
	for _, shape := range []struct{ width, k, threads int }{{152, 3, 128}, {24, 1, 256}} {
		k := groupKernel(shape.width, shape.k, shape.threads, experts)
		b := &plan.Bundle{Name: "group", Activations: plan.ElemF32, Kernels: []plan.Kernel{k}}
		e := executor(t, print(t, b))
		for name, among := range map[string]int{"spread": experts, "few": shape.k + 1, "same": shape.k} {
			for _, live := range []int{0, 1, shape.width - 1, shape.width} {
				t.Run(fmt.Sprintf("%d_rows/%s/%d", shape.width, name, live), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(live), 1))
					stride := k.Slots[0].Stride
					// Dead rows have chosen expert 0, which does not count.
					data := [][]byte{make([]byte, 8*stride*shape.width), make([]byte, 4*(experts+1)), make([]byte, 4*shape.width*shape.k), make([]byte, 16*shape.width)}
					var selected []int
					for row := range live {
						binary.LittleEndian.PutUint32(data[3][16*row+8:], uint32(row+1))
						for i, e := range rng.Perm(among)[:shape.k] {
							e = experts - 1 - e
							binary.LittleEndian.PutUint32(data[0][8*(row*stride+i):], uint32(e))
							selected = append(selected, e)
						}
					}
					if err := e.Run(k.Variants[0].Func, k.Groups(), k.Threads, data); err != nil {
						t.Fatal(err)
					}
					got, starts := integersOf(data[2]), integersOf(data[1])
					want, at := byExpert(selected, experts)
					if !slices.Equal(got[:len(want)], want) || !slices.Equal(starts, at) {
						t.Errorf("members %v from %v; expected %v from %v", got[:len(want)], starts, want, at)
					}
				})
			}
		}
	}
}

// byExpert lists selections by their experts, and where each expert's begin.
func byExpert(selected []int, experts int) (members, starts []uint32) {
	by := make([][]uint32, experts)
	for s, e := range selected {
		by[e] = append(by[e], uint32(s))
	}
	starts = []uint32{0}
	for _, list := range by {
		starts = append(starts, starts[len(starts)-1]+uint32(len(list)))
	}
	return slices.Concat(by...), starts
}

// TestRouteBatch routes rows that a simdgroup has alone and beside others, some of them dead, where
// simdgroups have none or fewer than others, by all that selects experts: of logits among which are
// equal ones, and some that are not numbers.
func TestRouteBatch(t *testing.T) {
	b := &plan.Bundle{Name: "batch", Activations: plan.ElemF32}
	for _, shape := range []struct{ width, simdgroups int }{{2, 4}, {5, 2}, {8, 8}, {8, 4}, {16, 8}, {16, 4}, {16, 3}} {
		for _, by := range []struct {
			experts, k, groups int
			sigmoid            bool
		}{{64, 6, 1, false}, {72, 4, 1, true}, {64, 6, 8, true}, {40, 3, 4, false}} {
			k := routeBatchOf(shape.width, func(s *slots) *plan.Gating {
				g := gating(s, by.groups, by.sigmoid)
				g.Experts, g.K = by.experts, by.k
				return g
			})
			k.Name = fmt.Sprintf("rows_%d_%d_experts_%d_%d", shape.width, shape.simdgroups, by.experts, by.groups)
			k.Threads, k.Variants = 32*shape.simdgroups, []plan.Variant{{Func: k.Name + "_kernel"}}
			b.Kernels = append(b.Kernels, k)
		}
	}
	e := executor(t, print(t, b))
	for i := range b.Kernels {
		k := &b.Kernels[i]
		for name, logit := range map[string]func(normal float64, row, e int) float64{
			"any":   func(normal float64, _, _ int) float64 { return normal },
			"equal": func(normal float64, row, _ int) float64 { return math.Round(normal) * float64(row%3) },
			"NaN": func(normal float64, row, e int) float64 {
				if (e+row)%3 == 0 {
					return math.NaN()
				}
				return normal
			},
		} {
			for _, live := range []int{0, 1, k.Width - 1, k.Width} {
				t.Run(fmt.Sprintf("%s/%s/%d", k.Name, name, live), func(t *testing.T) { routeRows(t, e, k, live, logit) })
			}
		}
	}
}

// routeRows compares all memory that a RouteBatch writes, and checks that it does not write the memory of
// padding rows.
func routeRows(t *testing.T, e *execute.Copies, k *plan.Kernel, live int, logit func(normal float64, row, e int) float64) {
	t.Helper()
	p := k.Parts[0].(*plan.RouteBatch)
	g, stride, rows := &p.Gating, k.Slots[p.Routing].Stride, (&kernelView{Kernel: k}).rowSlot()
	m := newMemory(k, &k.Variants[0], plan.ElemF32, 0)
	m.data[g.Logits] = make([]byte, 4*stride*k.Width)
	m.data[p.Routing] = bytes.Repeat([]byte{0xaa}, 8*stride*k.Width)
	m.data[p.Grouping.Starts] = make([]byte, 4*(g.Experts+1))
	m.data[p.Grouping.Members] = bytes.Repeat([]byte{0xaa}, 4*g.K*k.Width)
	m.data[rows] = make([]byte, 16*k.Width)
	for row := range k.Width {
		for e := range g.Experts {
			m.set(g.Logits, row*stride+e, logit(m.rng.NormFloat64(), row, e))
		}
		if row < live {
			binary.LittleEndian.PutUint32(m.data[rows][16*row+8:], uint32(row+1))
		}
	}
	want, selected := m.clone(), []int(nil)
	for row := range live {
		one := want.rowOf(row, g.Logits, p.Routing)
		one.gate(g, p.Routing)
		for i := range g.K {
			e, _ := one.routing(p.Routing, i)
			selected = append(selected, e)
		}
	}
	members, starts := byExpert(selected, g.Experts)
	if err := e.Run(k.Variants[0].Func, k.Groups(), k.Threads, m.data); err != nil {
		t.Fatal(err)
	}
	m.compareRouting(t, want, p.Routing)
	if got := integersOf(m.data[p.Grouping.Starts]); !slices.Equal(got, starts) {
		t.Errorf("starts %v; expected %v", got, starts)
	}
	got := integersOf(m.data[p.Grouping.Members])
	for len(members) < len(got) {
		members = append(members, 0xaaaaaaaa)
	}
	if !slices.Equal(got, members) {
		t.Errorf("members %v; expected %v", got, members)
	}
}

// groupKernel is a GroupExperts alone.
func groupKernel(width, k, threads, experts int) plan.Kernel {
	var s slots
	p := &plan.GroupExperts{Routing: s.route(false)}
	s[p.Routing].Stride = plan.StrideOf(k)
	p.Grouping = plan.Grouping{Experts: experts, K: k,
		Starts: s.add("starts", plan.SpaceArena, plan.ElemU32, true), Members: s.add("members", plan.SpaceArena, plan.ElemU32, true)}
	s.step()
	kernel := s.kernelOf("group", p)
	kernel.Width, kernel.Threads = width, threads
	return kernel
}

// routeBatch is a RouteBatch alone.
func routeBatch(width int) plan.Kernel {
	return routeBatchOf(width, func(s *slots) *plan.Gating { return gating(s, 1, false) })
}

// routeBatchOf is one that selects by a gating.
func routeBatchOf(width int, gating func(s *slots) *plan.Gating) plan.Kernel {
	var s slots
	p := &plan.RouteBatch{Gating: *gating(&s), Routing: s.route(true)}
	p.Grouping = plan.Grouping{Experts: p.Gating.Experts, K: p.Gating.K,
		Starts: s.add("starts", plan.SpaceArena, plan.ElemU32, true), Members: s.add("members", plan.SpaceArena, plan.ElemU32, true)}
	for _, slot := range []int{p.Gating.Logits, p.Routing} {
		s[slot].Stride = plan.StrideOf(p.Gating.Experts)
	}
	s.step()
	kernel := s.kernelOf("route_batch", p)
	kernel.Width = width
	return kernel
}

func integersOf(b []byte) []uint32 {
	var list []uint32
	for ; len(b) > 0; b = b[4:] {
		list = append(list, binary.LittleEndian.Uint32(b))
	}
	return list
}
