#include "library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "build.h"

namespace msl {
namespace {

namespace fs = std::filesystem;

// What compiled libraries are for: programs for several machines can share a cache.
#if defined(__aarch64__)
constexpr const char *machine = "aarch64";
#else
constexpr const char *machine = "x86-64";
#endif

constexpr uint64_t fnvOffset = 0xCBF29CE484222325, fnvPrime = 0x100000001B3;

uint64_t fnv(uint64_t h, const std::string &s) {
  for (const unsigned char c : s) h = (h ^ c) * fnvPrime;
  return h;
}

std::string contents(const fs::path &p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A hash of everything a compiled library depends on but its source.
uint64_t toolHash(const std::string &execDir) {
  uint64_t h = 0;           // a sum: the order of directory entries is not fixed
  std::error_code missing;  // msl_build will say so
  for (const auto &entry : fs::recursive_directory_iterator(execDir, missing))
    if (entry.is_regular_file()) h += fnv(fnv(fnvOffset, entry.path().filename()), contents(entry.path()));
  return h;
}

// A folder that is removed with its contents.
struct WorkDir {
  std::string path;
  WorkDir() {
    std::string name = fs::temp_directory_path() / "msl-XXXXXX";
    if (mkdtemp(name.data())) path = name;
  }
  ~WorkDir() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

fs::path cachePath(const std::string &source, const std::string &cache, const std::string &tools, unsigned flags) {
  if (cache.empty()) return {};
  char name[64];
  const uint64_t h = fnv(fnv(fnvOffset, source), std::string(machine) + std::to_string(flags) + tools);
  snprintf(name, sizeof name, "%016lx-%zu.so", static_cast<unsigned long>(h), source.size());
  return fs::path(cache) / name;
}

}  // namespace

KernelTable load(const std::string &path, std::string &error) {
  void *h = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!h) {
    error = dlerror();
    return {};
  }
  using Entry = const msl_kernel *(uint32_t *);
  auto *entry = reinterpret_cast<Entry *>(dlsym(h, "msl_kernels"));
  if (!entry) {
    error = path + " is no compiled Metal library";
    return {};
  }
  KernelTable t;
  t.first = entry(&t.count);
  return t;
}

KernelTable compile(const std::string &source, const Places &places, unsigned flags, std::string &error) {
  const std::string execDir = places.root + "/sim/exec";
  const std::string strictDir = places.root + "/gen/msl/frontend/include";
  const std::string tools = std::to_string(toolHash(execDir));
  const fs::path cached = cachePath(source, places.cache, tools, flags);
  std::error_code code;
  if (!cached.empty() && fs::exists(cached, code)) return load(cached, error);

  if (!cached.empty()) fs::create_directories(cached.parent_path(), code);
  const std::string runTime = cached.empty() ? "" : cached.parent_path() / ("runtime-" + tools + "-" + machine + ".o");
  const WorkDir work;
  const std::string so = work.path + "/library.so";
  char message[16384] = "";
  if (work.path.empty() || !msl_build(source.c_str(), execDir.c_str(), strictDir.c_str(), work.path.c_str(),
                                      runTime.empty() ? nullptr : runTime.c_str(), so.c_str(), flags, message, sizeof message)) {
    error = *message ? message : "no folder for temporary files";
    return {};
  }
  if (cached.empty()) return load(so, error);
  // Another process may build the same library: copy beside it, then rename.
  const fs::path part = cached.string() + "." + std::to_string(getpid());
  fs::copy_file(so, part, fs::copy_options::overwrite_existing, code);
  if (!code) fs::rename(part, cached, code);
  return load(code ? so : cached.string(), error);
}

}  // namespace msl
