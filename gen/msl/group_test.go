package msl

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mla/runtime/plan"
)

// TestGroupExperts lists selections by expert: of all rows, some and none, evenly spread, all
// of the same few experts, with experts that nobody selects, and where the last simdgroups
// have no selection to look at.
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
					by := make([][]uint32, experts)
					for row := range live {
						binary.LittleEndian.PutUint32(data[3][16*row+8:], uint32(row+1))
						for i, e := range rng.Perm(among)[:shape.k] {
							e = experts - 1 - e
							binary.LittleEndian.PutUint32(data[0][8*(row*stride+i):], uint32(e))
							by[e] = append(by[e], uint32(row*shape.k+i))
						}
					}
					if err := e.Run(k.Variants[0].Func, k.Groups(), k.Threads, data); err != nil {
						t.Fatal(err)
					}
					got, starts := integersOf(data[2]), integersOf(data[1])
					want, at := slices.Concat(by...), []uint32{0}
					for _, list := range by {
						at = append(at, at[len(at)-1]+uint32(len(list)))
					}
					if !slices.Equal(got[:len(want)], want) || !slices.Equal(starts, at) {
						t.Errorf("members %v from %v; expected %v from %v", got[:len(want)], starts, want, at)
					}
				})
			}
		}
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
	var s slots
	p := &plan.RouteBatch{Gating: *gating(&s, 1, false), Routing: s.route(true)}
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
