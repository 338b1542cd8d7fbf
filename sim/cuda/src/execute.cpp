// Runs graphs. Nodes run in random order, as far as dependencies allow. The bytes that a node
// accessed are compared with those of all nodes that may run at the same time.
#include <algorithm>
#include <cinttypes>

#include "graph.h"
#include "memory.h"

namespace cudasim {
namespace {

using simcommon::Access;

// One launch, and the device addresses that it accessed.
class Run {
 public:
  explicit Run(const Launch &l) : launch_(l) {}
  Access run();

 private:
  static void onFault(void *self, const char *rule, const char *text);
  static void onTouched(void *self, const void *at, uint64_t bytes, int write);
  void checkReads();
  void perhapsFlip();

  const Launch &launch_;
  std::vector<memory::Block *> blocks_;  // of the parameters
  Access access_;
};

Access Run::run() {
  const msl_kernel *k = launch_.function->kernel;
  msl_launch l = {};
  for (size_t i = 0; i < launch_.params.size(); i++) {
    const CUdeviceptr p = launch_.params[i];
    memory::Block *b = memory::device(p, 1, launch_.function->entry.c_str());
    blocks_.push_back(b);
    l.buffers[i] = b->at(p);
    l.sizes[i] = b->bytes - (p - b->base);
  }
  l.groups[0] = launch_.grid;
  l.threads[0] = launch_.block;
  l.groups[1] = l.groups[2] = l.threads[1] = l.threads[2] = 1;
  l.seed = nextRandom();
  l.fault = onFault;
  l.touched = config().kernels == Kernels::Run ? onTouched : nullptr;
  l.context = this;
  if (config().kernels != Kernels::Stub) k->run(&l);
  checkReads();
  perhapsFlip();
  access_.who = launch_.function->entry;
  return std::move(access_);
}

void Run::onFault(void *self, const char *rule, const char *text) {
  fail(Rule::KernelFault, "%s: %s: %s", static_cast<Run *>(self)->launch_.function->entry.c_str(), rule, text);
}

void Run::onTouched(void *self, const void *at, uint64_t bytes, int write) {
  auto *r = static_cast<Run *>(self);
  const auto *host = static_cast<const uint8_t *>(at);
  for (memory::Block *b : r->blocks_) {
    if (host < b->host || host >= b->host + b->bytes) continue;
    const uint64_t from = host - b->host;
    (write ? r->access_.writes : r->access_.reads).add(b->base + from, b->base + from + bytes);
    if (write) b->wrote(from, from + bytes);
    return;
  }
}

// Checks that all bytes which the kernel read were written before or by the kernel itself.
void Run::checkReads() {
  for (const auto &[begin, end] : access_.reads.list()) {
    const memory::Block *b = memory::device(begin, end - begin, launch_.function->entry.c_str());
    REQUIRE(b->holds(begin - b->base, end - b->base), Rule::Uninitialised, "%s reads %" PRIu64 " bytes at %#" PRIx64 " + %" PRIu64,
            launch_.function->entry.c_str(), end - begin, b->base, begin - b->base);
  }
}

// Makes the fault that CUDASIM_FLIP asks for.
void Run::perhapsFlip() {
  static uint64_t runs = 0;
  const Config &c = config();
  if (c.flipKernel.empty() || !launch_.function->entry.starts_with(c.flipKernel) || ++runs != c.flipAt) return;
  uint64_t last = 0;
  for (const auto &[begin, end] : access_.writes.list()) last = std::max<uint64_t>(last, end - 1);
  if (last) *memory::device(last, 1, launch_.function->entry.c_str())->at(last) ^= 1;
}

}  // namespace

void Executable::run() const {
  std::vector<size_t> waiting(launches.size()), ready;
  std::vector<std::vector<size_t>> next(launches.size());
  for (size_t i = 0; i < launches.size(); i++) {
    waiting[i] = after[i].size();
    for (const size_t a : after[i]) next[a].push_back(i);
    if (!waiting[i]) ready.push_back(i);
  }
  std::vector<std::pair<size_t, Access>> done;
  while (!ready.empty()) {
    std::swap(ready[nextRandom() % ready.size()], ready.back());
    const size_t i = ready.back();
    ready.pop_back();
    Access a = Run(launches[i]).run();
    for (const auto &[j, other] : done) {
      const bool ordered = j < i ? before[i][j] : before[j][i];
      const uintptr_t at = ordered ? 0 : a.conflict(other);
      REQUIRE(!at, Rule::MissingDependency, "nodes %zu (%s) and %zu (%s), at %#" PRIxPTR, j, other.who.c_str(), i, a.who.c_str(), at);
    }
    done.emplace_back(i, std::move(a));
    for (const size_t n : next[i])
      if (!--waiting[n]) ready.push_back(n);
  }
}

}  // namespace cudasim
