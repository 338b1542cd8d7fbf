// How often the loops over blocks of templates/msl/lib/weights/dot.metal and experts_sum.metal are
// unrolled.
//
// A multiprocessor keeps some 128 KiB of instructions, and the kernels of a layer take turns, each
// of which executes most of its text once. A kernel of long text then waits for its own
// instructions, which queue with weights that come through the same level-2 cache; measured alone, again and
// again, it does not. So a loop whose text would be longer than LONGEST is not unrolled: a
// simdgroup of many rows has enough loads on their way without that.
#pragma once

namespace mla {

struct q4_0;

// The text of a row's share of a block, in units of about 55 instructions of PTX: 52 to 58 of Q4_0,
// 76 to 123 of Q4_K, Q5_0, Q6_K and Q8_0.
template <typename FORMAT> struct step_text { enum : uint { LENGTH = 2 }; };
template <> struct step_text<q4_0> { enum : uint { LENGTH = 1 }; };

// How many blocks of N rows each are under way, of the flight that a kernel asks for.
template <uint N, uint FLIGHT, uint LENGTH>
struct in_flight {
  enum : uint { LONGEST = 64, COUNT = N * FLIGHT * LENGTH > LONGEST ? 1 : FLIGHT };
};

} // namespace mla

#define IN_FLIGHT _Pragma("clang loop unroll_count(in_flight<N, FLIGHT, step_text<T>::LENGTH>::COUNT)")
#define BOTH_IN_FLIGHT _Pragma("clang loop unroll_count(in_flight<N, EACH, uint(step_text<T>::LENGTH) + uint(step_text<U>::LENGTH)>::COUNT)")
