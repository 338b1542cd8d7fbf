// What a launch loaded and stored, a bit per byte.
#pragma once
#include <stddef.h>

void touch(const char *at, size_t size, bool store);

// Tells the launch's owner and forgets it.
void touched_report();
