// What must be gone at the end: objects, pools, command buffers in flight.
#pragma once

#include "objc.h"

namespace metalsim::report {

void born(Object *o);
void died(Object *o);
void poolDepth(int change);

// Number of things that leaked, each printed to stderr. Objects that wait in a
// pool count as leaked unless poolsWillDrain.
int leaks(bool poolsWillDrain);

}  // namespace metalsim::report
