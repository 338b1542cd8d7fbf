// The stores of a threadgroup to device memory: which are published, and their
// delay. A delayed store is undone when its threadgroup ends and done again at the
// end of the launch, so that threadgroups which run later see the old contents.
#pragma once
#include <stddef.h>

void overlay_begin_launch();
void overlay_before_store(char *at, size_t size);

// A device-scope fence of the running thread: marks the stores that come before it.
void overlay_fence();

// An atomic store of the running thread, which others may see: publishes the stores
// before a fence that comes before it. Calls f for each.
void overlay_publish(void (*f)(const char *at, size_t size));

void overlay_end_threadgroup(bool delay);
void overlay_end_launch();
