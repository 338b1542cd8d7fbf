#include "memory.h"

#include <signal.h>
#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "config.h"
#include "rules.h"

namespace metalsim::memory {
namespace {

// Poisoning commits the pages; beyond this size only the last page is poisoned.
constexpr uint64_t poisonLimit = 256ull << 20;

enum class Kind { Guard, Released, ReadOnly };

struct Area {
  uintptr_t end;
  Kind kind;
};

std::mutex mutex;
std::map<uintptr_t, Area> &areas() {  // by start
  static auto &m = *new std::map<uintptr_t, Area>;
  return m;
}

uint8_t fresh() { return config().kernels == Kernels::Stub ? 0 : poison; }

uint64_t roundUp(uint64_t n) { return (n + pageSize - 1) / pageSize * pageSize; }

void note(uintptr_t start, uintptr_t end, Kind kind) {
  std::lock_guard guard(mutex);
  areas()[start] = {end, kind};
}

// A line of /proc/self/maps.
struct Line {
  uintptr_t begin, end;
  bool writable;
};

std::vector<Line> mapped() {
  std::vector<Line> all;
  FILE *f = fopen("/proc/self/maps", "r");
  char text[4096], access[5];
  Line l;
  while (f && fgets(text, sizeof text, f)) {
    if (sscanf(text, "%" SCNxPTR "-%" SCNxPTR " %4s", &l.begin, &l.end, access) != 3) continue;
    l.writable = access[1] == 'w';
    all.push_back(l);
  }
  if (f) fclose(f);
  return all;
}

struct sigaction previous[2];  // SIGSEGV, SIGBUS

// Ends the process with the rule that an access to one of the simulator's areas breaks. Other
// faults are passed to the previous handler (Go's).
void onFault(int sig, siginfo_t *info, void *context) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  auto a = areas().upper_bound(at);
  if (a != areas().begin() && (--a, at < a->second.end)) {
    switch (a->second.kind) {
      case Kind::Guard: fail(Rule::OutOfBounds, "guard page of a buffer touched at %#" PRIxPTR, at);
      case Kind::Released: fail(Rule::UseAfterFree, "contents of a released buffer touched at %#" PRIxPTR, at);
      case Kind::ReadOnly: fail(Rule::ReadOnlyMemory, "address %#" PRIxPTR, at);
    }
  }
  const struct sigaction &old = previous[sig == SIGBUS];
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(sig, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(sig);
  signal(sig, SIG_DFL);  // the access is repeated and ends the process
}

void installHandler() {
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, &previous[0]);
  sigaction(SIGBUS, &action, &previous[1]);
}

void ensureHandler() {
  static std::once_flag once;
  std::call_once(once, installHandler);
}

}  // namespace

uint8_t *allocate(uint64_t bytes) {
  ensureHandler();
  const uint64_t data = roundUp(bytes);
  // One page more than needed, to align to pages larger than the host's.
  const uint64_t reserved = data + 3 * pageSize;
  void *p = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const uintptr_t base = roundUp(start) + pageSize;
  auto *memory = reinterpret_cast<uint8_t *>(base);
  if (mprotect(memory, data, PROT_READ | PROT_WRITE)) {
    munmap(p, reserved);
    return nullptr;
  }
  note(start, base, Kind::Guard);
  note(base + data, start + reserved, Kind::Guard);
  memset(memory + (data > poisonLimit ? data - pageSize : 0), fresh(), data > poisonLimit ? pageSize : data);
  return memory;
}

void release(uint8_t *base, uint64_t bytes) {
  const uint64_t data = roundUp(bytes);
  for (uint64_t i = bytes; i < data; i++)
    REQUIRE(base[i] == fresh(), Rule::OutOfBounds, "byte %" PRIu64 " of a buffer of %" PRIu64 " was written", i, bytes);
  madvise(base, data, MADV_DONTNEED);
  mprotect(base, data, PROT_NONE);
  note(reinterpret_cast<uintptr_t>(base), reinterpret_cast<uintptr_t>(base) + data, Kind::Released);
}

Mapping mappingOf(const void *p, uint64_t bytes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(p);
  const uintptr_t end = at + bytes;
  bool writable = true;
  for (const Line &l : mapped()) {
    if (l.end <= at) continue;
    if (l.begin > at || at >= end) break;
    writable = writable && l.writable;
    at = l.end;
  }
  if (at < end) return Mapping::None;
  return writable ? Mapping::Writable : Mapping::ReadOnly;
}

bool isGoHeap(const void *p) {
  constexpr uintptr_t arena = 64 << 20;
  const auto at = reinterpret_cast<uintptr_t>(p);
  uintptr_t begin = 0, end = 0;  // of the mappings without a gap before or around p
  for (const Line &l : mapped()) {
    if (l.begin != end && end > at) break;
    if (l.begin != end) begin = l.begin;
    end = l.end;
  }
  return begin <= at && at < end && begin % arena == 0 && end % arena == 0;
}

void noteReadOnly(const void *p, uint64_t bytes) {
  ensureHandler();
  const auto start = reinterpret_cast<uintptr_t>(p);
  note(start, start + bytes, Kind::ReadOnly);
}

}  // namespace metalsim::memory
