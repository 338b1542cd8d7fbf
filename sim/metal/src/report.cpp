#include "report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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

Counts *mapCounts() {
  const std::string &path = config().report;
  if (path.empty()) return new Counts{};
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  void *p = fd < 0 || ftruncate(fd, sizeof(Counts))
                ? MAP_FAILED
                : mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REQUIRE(p != MAP_FAILED, Rule::Configuration, "METALSIM_REPORT=%s cannot be mapped", path.c_str());
  close(fd);
  return static_cast<Counts *>(p);
}

Counts &counts() {
  static Counts &c = *mapCounts();
  return c;
}

}  // namespace

void born(Object *o) {
  std::lock_guard guard(apiLock());
  living().insert(o);
  counts().made++;
  counts().objects++;
}

void died(Object *o) { living().erase(o); }

void owners(int change) { counts().objects += change; }

void poolDepth(int change) { counts().pools += change; }

void inFlight(int change) {
  counts().inFlight += change;
  counts().commits += change > 0;
}

void member() { counts().members++; }
void requested() { counts().requests++; }
void unwired() { counts().unwired++; }

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
  if (!poolsWillDrain && counts().pools) {
    fprintf(stderr, "[metalsim] autorelease pools not popped: %lu\n", counts().pools);
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

// Prints what leaked and returns the number. With METALSIM_STRICT=1 it aborts if anything leaked.
// Tests call it when everything should be released.
EXPORT int metalsim_leaks() {
  const int n = metalsim::report::leaks(false);
  if (metalsim::config().strict) REQUIRE(n == 0, metalsim::Rule::Leak, "%d things", n);
  return n;
}
