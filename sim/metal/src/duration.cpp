#include "duration.h"

#include <fstream>
#include <map>
#include <sstream>

#include "config.h"

namespace metalsim::duration {
namespace {

constexpr double reach = 0.5;         // of the data sheet's operations and bytes
constexpr uint64_t pageRows = 64;
constexpr size_t recordWords = 4;

struct Kernel {
  int rows = -1;
  uint64_t width = 0;
  double rowFlops = 0, pairFlops = 0, cachedFlops = 0, bytes = 0, pairBytes = 0, cachedBytes = 0;
  double splitBytes = 0;
  uint64_t splits = 0, tile = 0, least = 0;

  // How many splits hold some of n cached rows: a split has a tile or the least, doubled until four
  // times its square reach n, and no more than splits have some.
  uint64_t used(uint64_t n) const {
    uint64_t per = std::max(tile, least);
    while (4 * per * per < n) per *= 2;
    const uint64_t all = splits * tile;
    per = std::max(per, (n + all - 1) / all * tile);
    return (n + per - 1) / per;
  }
};

struct Rates {
  double flops = 0, bytes = 0, launch = 0;  // per second; seconds
  uint64_t cores = 0;
};

std::ifstream openFile(const std::string &path) {
  std::ifstream in(path);
  REQUIRE(in, Rule::Configuration, "%s cannot be read", path.c_str());
  return in;
}

std::map<std::string, Kernel> readKernels() {
  std::map<std::string, Kernel> all;
  if (config().work.empty()) return all;
  std::ifstream in = openFile(config().work);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name;
    Kernel k;
    fields >> name >> k.rows >> k.width >> k.rowFlops >> k.pairFlops >> k.cachedFlops >> k.bytes >> k.pairBytes >> k.cachedBytes >>
        k.splitBytes >> k.splits >> k.tile >> k.least;
    REQUIRE(fields && k.rows < MSL_MAX_BUFFERS && (k.splitBytes == 0 || k.splits * k.tile > 0), Rule::Configuration, "METALSIM_WORK: %s", line.c_str());
    all[name] = k;
  }
  return all;
}

// The line of the GPU's chip.
Rates readRates() {
  std::ifstream in = openFile(config().root + "/runtime/device/chips/chips.tsv");
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || line.substr(0, tab) != config().gpu->chip) continue;
    std::istringstream fields(line.substr(tab + 1));
    uint64_t cores;
    double teraflops, gigabytes, micros;
    fields >> cores >> teraflops >> gigabytes >> micros;
    REQUIRE(fields, Rule::Configuration, "chips.tsv: %s", line.c_str());
    const double part = reach * config().speed / 100;
    return {part * teraflops * 1e12, part * gigabytes * 1e9, micros * 1e-6, cores};
  }
  fail(Rule::Configuration, "chips.tsv has no %s", config().gpu->chip);
}

const std::map<std::string, Kernel> &kernels() {
  static const std::map<std::string, Kernel> all = readKernels();
  return all;
}

const Rates &ratesOf() {
  static const Rates rates = readRates();
  return rates;
}

bool refusing = false;

}  // namespace

bool known() { return !kernels().empty(); }


uint64_t cores() { return ratesOf().cores; }

double of(const Command &c) {
  const Rates &rates = ratesOf();
  const auto found = kernels().find(c.pipeline->kernel->name);
  if (found == kernels().end()) return rates.launch;
  const Kernel &k = found->second;
  double pairs = 0, cached = 0, splits = 0;
  if (k.rows >= 0 && c.bindings[k.rows].buffer) {
    const Binding &b = c.bindings[k.rows];
    const uint64_t there = (b.buffer->bytes - b.offset) / (recordWords * sizeof(uint32_t));
    const auto *record = reinterpret_cast<const uint32_t *>(b.buffer->memory + b.offset);
    std::map<uint32_t, uint32_t> most;
    for (uint64_t i = 0; i < std::min(k.width, there); i++, record += recordWords) {
      pairs += record[2];
      if (k.splitBytes > 0) splits += static_cast<double>(k.used(record[2]));
      most[record[3]] = std::max(most[record[3]], record[2]);
    }
    for (const auto &[table, n] : most) cached += static_cast<double>((n + pageRows - 1) / pageRows * pageRows);
  }
  const double flops = k.rowFlops * static_cast<double>(k.width) + k.pairFlops * pairs + k.cachedFlops * cached;
  const double bytes = k.bytes + k.pairBytes * pairs + k.cachedBytes * cached + k.splitBytes * splits;
  return rates.launch + std::max(flops / rates.flops, bytes / rates.bytes);
}

double dispatchLimit() { return static_cast<double>(config().dispatchMs) * 1e-3; }
double bufferLimit() { return static_cast<double>(config().bufferMs) * 1e-3; }

void refuse() { refusing = true; }
bool refuses() { return refusing; }
void opened() { refusing = false; }

int64_t code(End e) {
  switch (e) {
    case End::DispatchTooLong: return 2;
    case End::Refused: return 4;
    default: return 14;
  }
}

std::string text(End e) {
  switch (e) {
    case End::DispatchTooLong: return "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)";
    case End::Refused:
      return "Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)";
    default: return "Impacting Interactivity (0000000e:kIOGPUCommandBufferCallbackErrorImpactingInteractivity)";
  }
}

}  // namespace metalsim::duration
