// The context switch: only what the calling convention lets a callee change is
// left out. Rounding and flushing modes (mxcsr, fpcr) are those of the operating
// system thread for all fibers: kernels do not change them.
#include "fiber.h"
#include <string.h>

#if defined(__x86_64__)
// Saved, from the stored address up: r15 r14 r13 r12 rbx rbp, return address.
asm(R"(
.text
.hidden msl_switch
.globl msl_switch
.type msl_switch, @function
msl_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

namespace {
constexpr int resume = 6;
constexpr size_t frame = 8; // words; run() starts 8 bytes below a multiple of 16, as after a call
}
#elif defined(__aarch64__)
// Saved, from the stored address up: x19 … x28, x29 (frame), x30 (return), d8 … d15.
asm(R"(
.text
.hidden msl_switch
.globl msl_switch
.type msl_switch, %function
msl_switch:
  sub sp, sp, #160
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");

namespace {
constexpr int resume = 11;
constexpr size_t frame = 20;
}
#else
#error "no fiber switch for this processor"
#endif

// All registers start at 0: a frame address of 0 ends call_path.
void *fiber_prepare(char *top, void (*run)()) {
  void **words = reinterpret_cast<void **>(reinterpret_cast<size_t>(top) & ~size_t(15)) - frame;
  memset(words, 0, frame * sizeof *words);
  words[resume] = reinterpret_cast<void *>(run);
  return words;
}
