#include "library.h"

#include <dlfcn.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "build.h"
#include "declarations.h"
#include "sha256.h"
#include "store.h"
#include "translate.h"

namespace msl {
namespace {

namespace fs = std::filesystem;

// A hash of the headers and the run time, and of what compiles with them.
std::string toolHash(const std::string &exec) {
  std::map<std::string, std::string> files;
  std::error_code missing;  // clang will say so
  for (const auto &entry : fs::recursive_directory_iterator(exec, missing)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[entry.path().lexically_relative(exec)] = sha256({std::istreambuf_iterator<char>(in), {}});
  }
  std::string all;
  for (const auto &[name, hash] : files) all += name + " " + hash + "\n";
  return sha256(all);
}

// The kernels of an object. Of several objects each has a table of its own.
KernelTable tableOf(const std::string &path, std::string &error) {
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

const msl_kernel *named(const KernelTable &t, const std::string &name) {
  for (uint32_t i = 0; i < t.count; i++)
    if (name == t.first[i].name) return &t.first[i];
  return nullptr;
}

// Kernels side by side, for as long as the process lives, as their objects do.
const msl_kernel *lasting(const std::vector<const msl_kernel *> &list) {
  static std::mutex lock;
  static std::deque<std::vector<msl_kernel>> tables;
  const std::lock_guard<std::mutex> guard(lock);
  std::vector<msl_kernel> &table = tables.emplace_back();
  for (const msl_kernel *k : list) table.push_back(*k);
  table.emplace_back();  // an empty table has an address too
  return table.data();
}

// One request for the kernels of a source.
class Request {
 public:
  Request(const Places &places, const char *language, unsigned flags)
      : places_(places), compiler_(places.exec, language, flags), lines_(flags & buildSanitize), tools_(toolHash(places.exec) + "\n" + compiler_.name()) {}

  // Objects share the run time, whose kernels take turns: a process has one.
  bool haveRunTime(std::string &error) {
    static std::mutex lock;
    static bool loaded = false;
    const std::lock_guard<std::mutex> guard(lock);
    if (loaded) return true;
    // The same for all sources, however they are built.
    const std::string key = sha256("run time\n" + toolHash(places_.exec) + "\n" + Compiler(places_.exec, "", 0).name());
    if (const std::string kept = store_.find(key); !kept.empty()) loaded = dlopen(kept.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
    if (loaded) return true;
    const Work work(store_.folder());
    const std::string object = work.path() + "/runtime.so";
    if (!compiler_.runTime(work.path(), object, error)) return false;
    if (!dlopen(object.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      error = dlerror();
      return false;
    }
    store_.keep({key}, object, work);
    return loaded = true;
  }

  KernelTable kernels(const std::string &source, std::string &error) {
    const Declarations declarations(source);
    find(declarations);
    KernelTable result;
    for (size_t i = 0; i < found_.size(); i++)
      if (!found_[i]) result.compiled.push_back(declarations.kernels()[i]);
    if (!strict(source, declarations, error)) return {};
    if ((!result.compiled.empty() || found_.empty()) && !make(source, declarations, error)) return {};
    result.first = lasting(found_);
    result.count = static_cast<uint32_t>(found_.size());
    return result;
  }

 private:
  std::string keyOf(const std::string &what) const { return sha256(what + "\n" + tools_); }

  // Looks up every kernel.
  void find(const Declarations &declarations) {
    std::map<std::string, KernelTable> tables;  // by object
    for (const std::string &name : declarations.kernels()) {
      chosen_.push_back(declarations.of(name));
      keys_.push_back(keyOf("kernel " + declarations.hash(chosen_.back(), lines_)));
      const std::string object = store_.find(keys_.back());
      std::string ignored;  // one that cannot be loaded is made again
      if (!object.empty() && !tables.count(object)) tables[object] = tableOf(object, ignored);
      found_.push_back(object.empty() ? nullptr : named(tables[object], name));
    }
  }

  // Parses the whole source, as Metal does, unless it was parsed before.
  bool strict(const std::string &source, const Declarations &declarations, std::string &error) {
    if (places_.strict.empty()) return true;
    const std::string key = keyOf("parsed " + toolHash(places_.strict) + declarations.hash(declarations.all(), false));
    if (!store_.find(key).empty()) return true;
    const Work work(store_.folder());
    if (!compiler_.parse(source, places_.strict, work.path(), error)) return false;
    const std::string proof = work.path() + "/parsed";
    std::ofstream(proof) << "parsed\n";
    store_.keep({key}, proof, work);
    return true;
  }

  // Compiles what was not found: one source, which is parsed once, to one object.
  bool make(const std::string &source, const Declarations &declarations, std::string &error) {
    if (translate(source, error).empty()) return false;  // what is wrong with all of it
    std::vector<bool> chosen;
    std::vector<std::string> keys;
    for (size_t i = 0; i < found_.size(); i++) {
      if (found_[i]) continue;
      keys.push_back(keys_[i]);
      chosen.resize(chosen_[i].size());
      for (size_t j = 0; j < chosen.size(); j++) chosen[j] = chosen[j] || chosen_[i][j];
    }
    const Work work(store_.folder());
    const std::string object = work.path() + "/library.so";
    if (!compiler_.kernels(keys.empty() ? source : declarations.source(chosen), work.path(), object, error)) return false;
    const KernelTable table = tableOf(object, error);
    if (!table.first) return false;
    for (size_t i = 0; i < found_.size(); i++) {
      if (!found_[i]) found_[i] = named(table, declarations.kernels()[i]);
      if (found_[i]) continue;
      error = "the compiled source lacks kernel " + declarations.kernels()[i];
      return false;
    }
    store_.keep(keys, object, work);
    return true;
  }

  const Places places_;
  const Compiler compiler_;
  const bool lines_;  // objects know their lines
  const std::string tools_;
  Store store_;
  std::vector<std::vector<bool>> chosen_;  // of each kernel, which declarations it has
  std::vector<std::string> keys_;
  std::vector<const msl_kernel *> found_;
};

}  // namespace

KernelTable load(const std::string &path, const Places &places, std::string &error) {
  Request r(places, "", buildFast);
  return r.haveRunTime(error) ? tableOf(path, error) : KernelTable{};
}

KernelTable compile(const std::string &source, const Places &places, unsigned flags, std::string &error) {
  Request r(places, languageOf(source), flags);
  return r.haveRunTime(error) ? r.kernels(source, error) : KernelTable{};
}

}  // namespace msl
