#include "store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sha256.h"

namespace msl {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t defaultBound = 2ull << 30, block = 4096;  // of a file system: what a small file takes
constexpr size_t hashLength = 64;

std::string variable(const char *name) {
  const char *v = getenv(name);
  return v ? v : "";
}

// Go's os.UserCacheDir.
std::string userFolder() {
#if defined(__APPLE__)
  const std::string cache = variable("HOME").empty() ? "" : variable("HOME") + "/Library/Caches";
#else
  const std::string xdg = variable("XDG_CACHE_HOME"), home = variable("HOME");
  const std::string cache = !xdg.empty() ? xdg : home.empty() ? "" : home + "/.cache";
#endif
  return (cache.empty() ? fs::temp_directory_path().string() : cache) + "/mla/objects";
}

std::string contents(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A file that is locked until the end of the block, also if that is the program's.
class Lock {
 public:
  explicit Lock(const std::string &path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  const int file_;
};

int openFolder(const std::string &path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }

// Removes the work folders that nobody has locked.
void sweep(const std::string &store) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(store, ignored)) {
    if (entry.path().filename().string().rfind("w-", 0) != 0) continue;
    const int folder = openFolder(entry.path());
    if (folder < 0) continue;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    close(folder);
  }
}

}  // namespace

// Where the store cannot be written, the folder is one that nobody sweeps.
Work::Work(const std::string &store) {
  std::error_code ignored;
  fs::create_directories(store, ignored);
  const Lock lock(store + "/lock");
  sweep(store);
  for (const std::string &parent : {store, fs::temp_directory_path(ignored).string()}) {
    std::string name = parent + "/w-XXXXXX";
    if (!mkdtemp(name.data())) continue;
    path_ = name;
    lock_ = openFolder(path_);
    if (lock_ >= 0) flock(lock_, LOCK_EX);
    return;
  }
}

Work::~Work() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

Store::Store() : folder_(variable("MLA_KERNEL_CACHE")), bound_(strtoull(variable("MLA_KERNEL_CACHE_BYTES").c_str(), nullptr, 10)) {
  if (folder_.empty()) folder_ = userFolder();
  if (!bound_) bound_ = defaultBound;
}

std::string Store::find(const std::string &key) {
  const std::string index = folder_ + "/k-" + key, line = contents(index);
  if (line.size() != hashLength + 1 || line.find_first_not_of("0123456789abcdef") != hashLength || line.back() != '\n') return "";
  const std::string hash = line.substr(0, hashLength), object = folder_ + "/o-" + hash;
  auto known = whole_.find(hash);
  if (known == whole_.end()) known = whole_.emplace(hash, sha256(contents(object)) == hash).first;
  if (!known->second) {
    unlink(object.c_str());
    return "";
  }
  utimensat(AT_FDCWD, index.c_str(), nullptr, 0);
  return utimensat(AT_FDCWD, object.c_str(), nullptr, 0) == 0 ? object : "";
}

void Store::keep(const std::vector<std::string> &keys, const std::string &file, const Work &work) {
  const std::string hash = sha256(contents(file)), object = folder_ + "/o-" + hash;
  if (rename(file.c_str(), object.c_str()) != 0) return;
  whole_[hash] = true;
  const std::string part = work.path() + "/key";
  for (const std::string &key : keys) {
    std::ofstream out(part);
    out << hash << "\n";
    out.close();
    if (!out || rename(part.c_str(), (folder_ + "/k-" + key).c_str()) != 0) break;
  }
  trim();
}

void Store::trim() const {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  const Lock lock(folder_ + "/lock");
  std::vector<File> files;
  uint64_t sum = 0;
  std::error_code code;
  for (const auto &entry : fs::directory_iterator(folder_, code)) {
    const std::string name = entry.path().filename();
    if (name.rfind("o-", 0) != 0 && name.rfind("k-", 0) != 0) continue;
    const auto used = entry.last_write_time(code);
    const uint64_t bytes = (entry.file_size(code) + block - 1) / block * block;
    if (code) continue;  // another program has removed it
    files.push_back({used, bytes, entry.path()});
    sum += bytes;
  }
  if (sum <= bound_) return;
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used < b.used; });
  for (const File &f : files) {
    if (sum <= bound_ - bound_ / 8) break;  // so that not every writer has to
    if (unlink(f.path.c_str()) == 0) sum -= f.bytes;
  }
}

}  // namespace msl
