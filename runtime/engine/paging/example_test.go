package paging_test

import (
	"errors"
	"fmt"

	"mla/runtime/engine/paging"
)

// Example shows two sessions whose prompts share the first 100 tokens.
func Example() {
	pool, err := paging.NewPool(3)
	if err != nil {
		panic(err)
	}
	// In place of a device, the example prints what a device would do.
	order := func(o paging.Orders) {
		for _, c := range o.Copies {
			fmt.Printf("  copy %d rows of page %d to page %d\n", c.Rows, c.From, c.To)
		}
		if len(o.Pages) > 0 {
			fmt.Printf("  table entries from %d on: %v\n", o.First, o.Pages)
		}
	}
	session := func(prompt []int32) *paging.Sequence {
		s, orders := pool.Open("", prompt)
		order(orders)
		rest := prompt[s.Len():]
		fmt.Printf("%d tokens are there, %d are run\n", s.Len(), len(rest))
		orders, err := s.Reserve(len(rest))
		if out, ok := errors.AsType[*paging.OutOfPages](err); ok {
			fmt.Println(out)
			return s
		}
		order(orders)
		// Here the device runs the tokens.
		orders, err = s.Append(rest)
		if err != nil {
			panic(err)
		}
		order(orders)
		return s
	}

	a, b := make([]int32, 128), make([]int32, 120)
	for i := range 100 {
		a[i], b[i] = int32(i), int32(i)
	}
	b[100] = 1
	session(a)
	second := session(b)
	third := session([]int32{7, 8, 9})
	second.Close()
	third.Close()
	session([]int32{7, 8, 9})
	fmt.Printf("%+v\n", pool.Stats())
	// Output:
	// 0 tokens are there, 128 are run
	//   table entries from 0 on: [0 1]
	//   table entries from 0 on: [0]
	// 64 tokens are there, 56 are run
	//   table entries from 1 on: [2]
	// 0 tokens are there, 3 are run
	// out of pages: 1 more needed, 0 of 3 available (a page holds 64 tokens)
	// 0 tokens are there, 3 are run
	//   table entries from 0 on: [2]
	// {InUse:3 Cached:0 Free:0 Shared:0 Hits:64 Misses:187 Evicted:0}
}
