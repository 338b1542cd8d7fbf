// Fibers: stacks that take turns on one operating system thread.
#pragma once
#include <stddef.h>

// Stores the registers of the running stack, its address in *from, and goes on
// where the stack to was stored.
extern "C" void msl_switch(void **from, void *to);

// Prepares a stack that ends at top: the first switch to the result calls run(),
// which must not return.
void *fiber_prepare(char *top, void (*run)());

// The calls that lead to the caller, as one number. Two threads at the same place
// of a kernel have the same, whatever the compiler inlined.
__attribute__((always_inline)) inline size_t call_path() {
  size_t hash = 0;
  for (void **frame = static_cast<void **>(__builtin_frame_address(0)); frame; frame = static_cast<void **>(*frame)) {
    hash = hash * 31 + reinterpret_cast<size_t>(frame[1]);
  }
  return hash;
}
