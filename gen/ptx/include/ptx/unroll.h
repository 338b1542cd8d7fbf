// Unroll factors of the loops over quant blocks in templates/msl/lib/weights/dot.metal and experts_sum.metal.
//
// The instruction cache of a multiprocessor has about 128 KiB. The kernels of a layer run in turn, and each
// executes most of its instructions only once. A long kernel therefore waits for its own instructions, which
// pass through the same level-2 cache as the weights. (A benchmark that runs one kernel repeatedly does not
// show this.) So a loop whose unrolled code would be longer than LONGEST is not unrolled: a simdgroup of many
// rows has enough loads in flight anyway.
#pragma once

namespace mla {

struct q4_0;

// The text of a row's share of a block, in units of about 55 instructions of PTX: 52 to 58 of Q4_0,
// 76 to 123 of Q4_K, Q5_0, Q6_K and Q8_0.
template <typename FORMAT> struct step_text { enum : uint { LENGTH = 2 }; };
template <> struct step_text<q4_0> { enum : uint { LENGTH = 1 }; };

// The number of blocks in flight, of N rows each. A kernel asks for FLIGHT of them.
template <uint N, uint FLIGHT, uint LENGTH>
struct in_flight {
  enum : uint { LONGEST = 64, COUNT = N * FLIGHT * LENGTH > LONGEST ? 1 : FLIGHT };
};

} // namespace mla

#define IN_FLIGHT _Pragma("clang loop unroll_count(in_flight<N, FLIGHT, step_text<T>::LENGTH>::COUNT)")
#define BOTH_IN_FLIGHT _Pragma("clang loop unroll_count(in_flight<N, EACH, uint(step_text<T>::LENGTH) + uint(step_text<U>::LENGTH)>::COUNT)")
