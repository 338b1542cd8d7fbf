#include "module.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <tuple>

#include "../../exec/build.h"
#include "../../exec/library.h"
#include "../../exec/sha256.h"
#include "stream.h"

namespace cudasim {
namespace {

// The declaration of an entry in PTX.
struct Entry {
  uint32_t params = 0, threads = 1024, dynamic = 0;
};

// The line above an entry whose shared array has no size. It has the size that a launch must ask
// for (runtime/plan/ptxfile).
constexpr std::string_view dynamicMark = "// dynamic threadgroup memory: ";

// Returns the size of the array that a line like .shared .align 16 .b8 NAME[BYTES] declares; 0: no array.
uint64_t sharedBytes(const std::string &line) {
  const size_t at = line.find(".shared "), open = line.find('[');
  if (at == std::string::npos || at > 1 || open == std::string::npos) return 0;
  return strtoull(line.c_str() + open + 1, nullptr, 10);
}

// Returns the entries of PTX. If the map is empty, error has the reason.
std::map<std::string, Entry> readPTX(const std::string &text, std::string &error) {
  std::map<std::string, Entry> entries;
  bool version = false, target = false;
  std::string last;
  uint32_t dynamic = 0;
  bool unsized = false;  // an array without a size is declared for the next entry
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    version = version || line.starts_with(".version ");
    if (line.starts_with(".target sm_")) {
      target = true;
      if (std::stoi(line.substr(11)) > config().capability) error = "the target is newer than the device";
    }
    if (line.starts_with(dynamicMark)) dynamic = std::strtoul(line.c_str() + dynamicMark.size(), nullptr, 10);
    unsized = unsized || line.starts_with(".extern .shared ");
    if (sharedBytes(line) > plainShared) error = "entry " + last + " uses too much shared data";
    if (line.starts_with(".maxntid ") && !last.empty()) entries[last].threads = std::stoul(line.substr(9));
    const size_t at = line.find(".entry ");
    if (at != 0 && line.rfind(".visible ", 0) != 0) continue;
    if (at == std::string::npos) continue;
    const std::string name = line.substr(at + 7, line.find('(') - at - 7);
    uint32_t params = 0;
    while (line.find(')') == std::string::npos && std::getline(lines, line)) params += line.find(".param .u64") != std::string::npos;
    last = name;
    if (unsized != (dynamic > 0)) error = "entry " + name + " does not say what its shared memory is";
    if (!entries.emplace(name, Entry{params, 1024, dynamic}).second) error = "entry " + name + " is there twice";
    dynamic = 0;
    unsized = false;
  }
  if (!version || !target) error = "no .version or no .target";
  if (entries.empty() && error.empty()) error = "no entries";
  return error.empty() ? entries : std::map<std::string, Entry>();
}

// The macros of gen/ptx/clang.go. With them kernels read weights in the split layout, into which
// the runtime converts them for CUDA.
constexpr char definitions[] = "#define SPLIT_ROWS true\n";

const std::string &metalSource() {
  static const std::string text = [] {
    std::ifstream in(config().metal, std::ios::binary);
    REQUIRE(in, Rule::Configuration, "CUDASIM_METAL=%s cannot be read", config().metal.c_str());
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  return text;
}

const msl::KernelTable &kernels() {
  static const msl::KernelTable table = [] {
    std::string error;
    const msl::Places places = {config().root + "/sim/exec", config().root + "/gen/msl/frontend/include"};
    const auto t = msl::compile(definitions + metalSource(), places, config().kernels == Kernels::Run ? 0 : msl::buildFast, error);
    REQUIRE(t.first, Rule::Configuration, "%s: %s", config().metal.c_str(), error.c_str());
    return t;
  }();
  return table;
}

const msl_kernel *kernelOf(const std::string &entry, const Entry &e) {
  for (uint32_t i = 0; i < kernels().count; i++) {
    const msl_kernel *k = &kernels().first[i];
    if (k->name != entry) continue;
    const auto buffers = static_cast<uint32_t>(std::bit_width(k->buffers));
    REQUIRE(e.params == buffers, Rule::WrongSource, "entry %s has %u parameters, the kernel %u buffers", entry.c_str(), e.params, buffers);
    const uint32_t asks = k->threadgroup_bytes > plainShared ? k->threadgroup_bytes : 0;
    REQUIRE(e.dynamic == asks, Rule::WrongSource, "entry %s asks for %u bytes of shared memory, the kernel has %u", entry.c_str(), e.dynamic,
            k->threadgroup_bytes);
    return k;
  }
  fail(Rule::WrongSource, "%s has no kernel %s", config().metal.c_str(), entry.c_str());
}

// Kernels that do not run need no Metal source. Without it, the declarations in the PTX are used.
bool sourceless() { return config().kernels == Kernels::Stub && config().metal.empty(); }

// Entries of several modules may have the same name and different sizes.
const msl_kernel *stubOf(const std::string &entry, const Entry &e) {
  static std::map<std::tuple<std::string, size_t, size_t, size_t>, msl_kernel> stubs;
  const auto at = stubs.try_emplace({entry, e.params, e.threads, e.dynamic}).first;
  at->second = {.name = std::get<0>(at->first).c_str(), .buffers = (1u << e.params) - 1, .constants = 0, .writable = 0, .threadgroup_bytes = e.dynamic,
                .max_threads = e.threads, .checked = 0, .run = nullptr, .begin = nullptr, .end = nullptr};
  return &at->second;
}

// The supported options of cuModuleLoadDataEx: the buffer for error messages.
struct Log {
  char *text = nullptr;
  uint64_t bytes = 0;

  Log(unsigned n, const int *options, void **values) {
    for (unsigned i = 0; i < n; i++) {
      if (options[i] == 5) text = static_cast<char *>(values[i]);                  // CU_JIT_ERROR_LOG_BUFFER
      else if (options[i] == 6) bytes = reinterpret_cast<uint64_t>(values[i]);     // …_SIZE_BYTES
      else fail(Rule::BadValue, "option %d", options[i]);
    }
  }
  CUresult error(const std::string &what) const {
    if (text && bytes) strncpy(text, ("ptxas fatal: " + what).c_str(), bytes - 1);
    return CUDA_ERROR_INVALID_PTX;
  }
};

}  // namespace
}  // namespace cudasim

using namespace cudasim;

EXPORT CUresult cuModuleLoadDataEx(CUhandle *out, const char *image, unsigned n, const int *options, void **values) {
  ENTER(Context);
  REQUIRE(out && image && (!n || (options && values)), Rule::BadPointer, "%s", __func__);
  const Log log(n, options, values);
  std::string error;
  const std::string text = image;
  const auto entries = readPTX(text, error);
  if (entries.empty()) return log.error(error);
  REQUIRE(sourceless() || text.find("kernels.metal sha256:" + msl::sha256(metalSource())) != std::string::npos, Rule::WrongSource,
          "the head of the PTX does not name %s", config().metal.c_str());
  auto *m = new Module;
  for (const auto &[name, e] : entries) {
    auto *f = new Function;
    f->entry = name;
    f->params = e.params;
    f->dynamic = e.dynamic;
    f->kernel = sourceless() ? stubOf(name, e) : kernelOf(name, e);
    f->owned = false;
    born(f);
    m->functions[name] = f;
  }
  *out = born(m);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleUnload(CUhandle h) {
  ENTER(Context);
  auto *m = get<Module>(h);
  for (const auto &[name, f] : m->functions) requireIdle(f, __func__);
  for (const auto &[name, f] : m->functions) destroy(f);
  destroy(m);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUhandle *out, CUhandle h, const char *name) {
  ENTER(Context);
  REQUIRE(out && name, Rule::BadPointer, "%s", __func__);
  const auto *m = get<Module>(h);
  const auto f = m->functions.find(name);
  if (f == m->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *out = f->second->handle;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncGetAttribute(int *out, int attribute, CUhandle h) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  const auto *f = get<Function>(h);
  switch (attribute) {
    case 0: *out = static_cast<int>(f->kernel->max_threads); return CUDA_SUCCESS;
    case 1: *out = static_cast<int>(f->kernel->threadgroup_bytes - f->dynamic); return CUDA_SUCCESS;
    case 3: *out = 0; return CUDA_SUCCESS;   // local memory
    case 4: *out = 32; return CUDA_SUCCESS;  // registers
  }
  return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuFuncSetAttribute(CUhandle h, int attribute, int value) {
  ENTER(Context);
  auto *f = get<Function>(h);
  const auto most = static_cast<int64_t>(config().shared) - (f->kernel->threadgroup_bytes - f->dynamic);
  switch (attribute) {
    case 8:  // MAX_DYNAMIC_SHARED_SIZE_BYTES
      if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
      f->allowed = static_cast<uint32_t>(value);
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}
