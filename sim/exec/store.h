// What compilers made, kept between programs: one folder for the executor, both
// simulators and (by gen/objects, which reads and writes the same files) PTX.
//
//   o-HASH    an object; HASH is the SHA-256 of its bytes
//   k-KEY     what KEY stands for: the HASH of an object, and a newline
//   w-NAME    the folder of a program that makes an object, which it has locked (flock)
//   lock      is locked while folders w-NAME are made or removed, and objects evicted
//
// Files appear by rename, complete. A reader needs no lock: a key whose object is gone, or
// has not the bytes that its name says, is unknown. A reader sets the time of a key and its object;
// who writes removes the oldest files until the rest has no more bytes than allowed, and the
// folders of programs that were killed, whose locks are gone with them.
//
// MLA_KERNEL_CACHE names another folder than the user's, MLA_KERNEL_CACHE_BYTES another bound.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace msl {

// A locked folder for what is being made. It is removed with its contents.
class Work {
 public:
  explicit Work(const std::string &store);
  ~Work();
  Work(const Work &) = delete;
  Work &operator=(const Work &) = delete;
  const std::string &path() const { return path_; }  // "": there is none

 private:
  std::string path_;
  int lock_ = -1;
};

class Store {
 public:
  // The store that the environment names.
  Store();

  const std::string &folder() const { return folder_; }

  // The path of the object that a key stands for; "" if there is none.
  std::string find(const std::string &key);

  // Keeps a file of a work folder as the object of keys. What cannot be kept is made again by the next program.
  void keep(const std::vector<std::string> &keys, const std::string &file, const Work &work);

 private:
  void trim() const;

  std::string folder_;
  uint64_t bound_;
  std::map<std::string, bool> whole_;  // by hash, what this program has looked at
};

}  // namespace msl
