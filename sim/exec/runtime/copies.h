// Copies that arrive late: what compiled kernels call, and the scheduler.
#pragma once
#include "thread.h"

void copies_begin_threadgroup();
void copies_end_threadgroup(); // faults if a copy is still on its way
