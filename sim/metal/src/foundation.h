// The few Foundation classes that a Metal program without Cocoa needs.
#pragma once

#include <vector>

#include "objc.h"

namespace metalsim {

struct String : Object {
  std::string text;
  explicit String(std::string t = "") : text(std::move(t)) {}
  char *utf8() { return text.data(); }
  uint64_t length() { return text.size(); }
};

struct Url : Object {
  std::string file;
  Object *path();
};

struct Array : Object {
  std::vector<Ref<Object>> items;
  uint64_t count() { return items.size(); }
  Object *at(uint64_t i);
  void dealloc() override { items.clear(); }
};

struct Error : Object {
  int64_t number;
  std::string domainName, text;
  Error(int64_t n, std::string domain, std::string t)
      : number(n), domainName(std::move(domain)), text(std::move(t)) {}
  int64_t code() { return number; }
  Object *domain();
  Object *localizedDescription();
};

// To a program whose SDK is older than itself, macOS 26 calls itself 16.0, 27 is taken to say 17.0, and a
// Go binary without cgo names SDK 12 (A19). The C function sysctlbyname tells the
// truth.
struct ProcessInfo : Object {
  bool isAtLeast(Version v);
  Object *versionString();
};

// An autoreleased NSString.
Object *autoreleasedString(std::string text);

// Stores an autoreleased NSError where the caller asked for one.
void setError(Error **out, int64_t code, const char *domain, std::string text);

void defineFoundation();

}  // namespace metalsim
