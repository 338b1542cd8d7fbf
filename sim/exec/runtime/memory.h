// Threadgroup memory: the arrays that a kernel declares.
#pragma once
#include "thread.h"

// Whether [at, at+size) lies in one of the arrays of the threadgroup.
bool threadgroup_holds(const char *at, size_t size);

// Forgets the arrays; each is filled with poison when the first thread asks for it.
void memory_begin_threadgroup();
