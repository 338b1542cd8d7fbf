// Two stacks switch to each other; each finds in every register that the calling
// convention preserves what it left there.
#include "../exec/runtime/fiber.h"
#include <stdint.h>
#include <stdio.h>

// Puts in[i] into the ith preserved register, switches from *from to to, and stores
// the registers in out when the stack runs again.
extern "C" void switch_with(void **from, void *to, const uint64_t *in, uint64_t *out);

#if defined(__x86_64__)
constexpr int registers = 6;
asm(R"(
.text
.globl switch_with
switch_with:
  pushq %rbx
  pushq %rbp
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  pushq %rcx
  movq (%rdx), %rbx
  movq 8(%rdx), %rbp
  movq 16(%rdx), %r12
  movq 24(%rdx), %r13
  movq 32(%rdx), %r14
  movq 40(%rdx), %r15
  call msl_switch
  popq %rcx
  movq %rbx, (%rcx)
  movq %rbp, 8(%rcx)
  movq %r12, 16(%rcx)
  movq %r13, 24(%rcx)
  movq %r14, 32(%rcx)
  movq %r15, 40(%rcx)
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbp
  popq %rbx
  ret
)");
#else
constexpr int registers = 19; // x19 … x29, d8 … d15
asm(R"(
.text
.globl switch_with
switch_with:
  stp x29, x30, [sp, #-176]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  str x3, [sp, #160]
  ldp x19, x20, [x2]
  ldp x21, x22, [x2, #16]
  ldp x23, x24, [x2, #32]
  ldp x25, x26, [x2, #48]
  ldp x27, x28, [x2, #64]
  ldr x29, [x2, #80]
  ldp d8, d9, [x2, #88]
  ldp d10, d11, [x2, #104]
  ldp d12, d13, [x2, #120]
  ldp d14, d15, [x2, #136]
  bl msl_switch
  ldr x3, [sp, #160]
  stp x19, x20, [x3]
  stp x21, x22, [x3, #16]
  stp x23, x24, [x3, #32]
  stp x25, x26, [x3, #48]
  stp x27, x28, [x3, #64]
  str x29, [x3, #80]
  stp d8, d9, [x3, #88]
  stp d10, d11, [x3, #104]
  stp d12, d13, [x3, #120]
  stp d14, d15, [x3, #136]
  ldp d14, d15, [sp, #144]
  ldp d12, d13, [sp, #128]
  ldp d10, d11, [sp, #112]
  ldp d8, d9, [sp, #96]
  ldp x27, x28, [sp, #80]
  ldp x25, x26, [sp, #64]
  ldp x23, x24, [sp, #48]
  ldp x21, x22, [sp, #32]
  ldp x19, x20, [sp, #16]
  ldp x29, x30, [sp], #176
  ret
)");
#endif

namespace {
void *stacks[2]; // stored: of main and of the fiber
int wrong;

// Switches with registers of its own numbers, a few times.
void meet(int me) {
  for (uint64_t round = 1; round < 4; ++round) {
    uint64_t in[registers], out[registers];
    for (int i = 0; i < registers; ++i) in[i] = round * 1000 + uint64_t(me) * 100 + uint64_t(i);
    switch_with(&stacks[me], stacks[!me], in, out);
    for (int i = 0; i < registers; ++i) {
      if (in[i] == out[i]) continue;
      printf("stack %d, register %d: %llu, want %llu\n", me, i, static_cast<unsigned long long>(out[i]), static_cast<unsigned long long>(in[i]));
      ++wrong;
    }
  }
}

void fiber() {
  if (reinterpret_cast<size_t>(__builtin_frame_address(0)) % 16) puts("the stack is not aligned"), ++wrong;
  for (;;) meet(1);
}
}

int main() {
  alignas(16) static char stack[64 << 10];
  stacks[1] = fiber_prepare(stack + sizeof stack - 3, fiber);
  meet(0);
  if (!wrong) puts("OK");
  return wrong != 0;
}
