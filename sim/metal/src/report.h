// Counts of objects, pools and command buffers in flight, which must be 0 at the end.
//
// A Go program ends without running destructors, so the counts are also kept in
// the file that METALSIM_REPORT names: eight uint64 in the machine's byte order,
// as in Counts. They are up to date at every moment, and stay in the file when the process ends.
#pragma once

#include "objc.h"

namespace metalsim::report {

struct Counts {
  uint64_t objects;  // owned by the application, or waiting in a pool
  uint64_t pools;    // on all threads
  uint64_t inFlight;  // command buffers
  uint64_t made;     // objects, ever
  uint64_t commits;  // command buffers, ever
  uint64_t members;  // allocations added to residency sets, ever
  uint64_t requests;  // of residency, ever
  uint64_t unwired;  // residency sets that a command buffer found un-wired, ever
};

void born(Object *o);
void died(Object *o);
void owners(int change);  // called when the application begins (1) or ceases (-1) to own an object
void poolDepth(int change);
void inFlight(int change);
void member();
void requested();
void unwired();

// Number of things that leaked, each printed to stderr. Objects that wait in a
// pool count as leaked unless poolsWillDrain.
int leaks(bool poolsWillDrain);

}  // namespace metalsim::report
