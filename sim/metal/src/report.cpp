#include "report.h"

#include <atomic>
#include <cstdio>
#include <set>

#include "config.h"
#include "export.h"
#include "queue.h"

namespace metalsim::report {
namespace {

std::set<Object *> &living() {
  static auto &s = *new std::set<Object *>;
  return s;
}

std::atomic<int> depth;  // pools on all threads

}  // namespace

void born(Object *o) {
  std::lock_guard guard(apiLock());
  living().insert(o);
}

void died(Object *o) { living().erase(o); }

void poolDepth(int change) { depth += change; }

int leaks(bool poolsWillDrain) {
  std::lock_guard guard(apiLock());
  int n = 0;
  for (Object *o : living()) {
    if (o->owned > (poolsWillDrain ? o->pending : 0)) {
      fprintf(stderr, "[metalsim] leaked: %s, %ld references\n", nameOf(o).c_str(), o->owned);
      n++;
    }
    const auto *c = dynamic_cast<const CommandBuffer *>(o);
    if (c && c->inFlight()) {
      fprintf(stderr, "[metalsim] in flight: %s\n", nameOf(o).c_str());
      n++;
    }
  }
  if (!poolsWillDrain && depth) {
    fprintf(stderr, "[metalsim] autorelease pools not popped: %d\n", depth.load());
    n++;
  }
  return n;
}

// C programs end with destructors; Go programs do not, they call metalsim_leaks.
__attribute__((destructor)) static void atExit() {
  if (!config().strict) return;
  const int n = leaks(false);
  REQUIRE(n == 0, Rule::Leak, "%d things at exit", n);
}

}  // namespace metalsim::report

// Prints what leaked and returns how many things; with METALSIM_STRICT=1 it
// aborts if there are any. To be called when everything is released.
EXPORT int metalsim_leaks() {
  const int n = metalsim::report::leaks(false);
  if (metalsim::config().strict) REQUIRE(n == 0, metalsim::Rule::Leak, "%d things", n);
  return n;
}
