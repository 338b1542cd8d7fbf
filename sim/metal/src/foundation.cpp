#include "foundation.h"

#include <cerrno>
#include <cstring>
#include <map>

#include "config.h"
#include "export.h"
#include "protocol.h"

namespace metalsim {
namespace {

Object *stringWithUTF8String(char *text) {
  REQUIRE(text, Rule::NilArgument, "stringWithUTF8String:");
  return autoreleasedString(text);
}

Object *fileURLWithPath(String *path) {
  REQUIRE(path, Rule::NilArgument, "fileURLWithPath:");
  Url *u = make<Url>();
  u->file = path->text;
  return u->autorelease();
}

Object *arrayWithObject(Object *o) {
  REQUIRE(o, Rule::NilArgument, "arrayWithObject:");
  Array *a = make<Array>();
  a->items.emplace_back(o);
  return a->autorelease();
}

constexpr const char *systemBuild = "SIMULATED";

int claimedVersion() { return config().os >= 26 ? config().os - 10 : config().os; }

Object *processInfo() {
  static ProcessInfo *p = [] {
    ProcessInfo *info = make<ProcessInfo>();
    hold(info);  // lives as long as the process
    info->release();
    return info;
  }();
  return p;
}

}  // namespace

Object *autoreleasedString(std::string text) { return make<String>(std::move(text))->autorelease(); }

void setError(Error **out, int64_t code, const char *domain, std::string text) {
  if (!out) return;
  *out = make<Error>(code, domain, std::move(text));
  (*out)->autorelease();
}

Object *Url::path() { return autoreleasedString(file); }

Object *Array::at(uint64_t i) {
  REQUIRE(i < items.size(), Rule::OffsetRange, "objectAtIndex: %lu of %zu", i, items.size());
  return items[i].get();
}

Object *Error::domain() { return autoreleasedString(domainName); }
Object *Error::localizedDescription() { return autoreleasedString(text); }

bool ProcessInfo::isAtLeast(Version v) {
  const int major = claimedVersion();
  return v.major < major || (v.major == major && v.minor == 0 && v.patch == 0);
}

Object *ProcessInfo::versionString() {
  return autoreleasedString("Version " + std::to_string(claimedVersion()) + ".0 (Build " + systemBuild + ")");
}

void defineFoundation() {
  Class *object = classOf<Object> = defineClass("NSObject", nullptr, "10.0", false);
  method<&Object::retain>(object, "retain", "10.0");
  method<&Object::release>(object, "release", "10.0");
  method<&Object::autorelease>(object, "autorelease", "10.0");
  method<&Object::respondsToSelector>(object, "respondsToSelector:", "10.0");
  method<&Object::conformsToProtocol>(object, "conformsToProtocol:", "10.0");
  classOf<Protocol> = defineClass("Protocol", object, "10.0", false);

  Class *string = classOf<String> = defineClass("NSString", object, "10.0", false);
  classMethod<&stringWithUTF8String>(string, "stringWithUTF8String:", "10.0");
  method<&String::utf8>(string, "UTF8String", "10.0");
  method<&String::length>(string, "length", "10.0");

  Class *url = classOf<Url> = defineClass("NSURL", object, "10.0", false);
  classMethod<&fileURLWithPath>(url, "fileURLWithPath:", "10.0");
  method<&Url::path>(url, "path", "10.0");

  Class *array = classOf<Array> = defineClass("NSArray", object, "10.0", false);
  classMethod<&arrayWithObject>(array, "arrayWithObject:", "10.0");
  method<&Array::count>(array, "count", "10.0");
  method<&Array::at>(array, "objectAtIndex:", "10.0");

  Class *error = classOf<Error> = defineClass("NSError", object, "10.2", false);
  method<&Error::code>(error, "code", "10.2");
  method<&Error::domain>(error, "domain", "10.2");
  method<&Error::localizedDescription>(error, "localizedDescription", "10.2");

  Class *info = classOf<ProcessInfo> = defineClass("NSProcessInfo", object, "10.0", false);
  classMethod<&processInfo>(info, "processInfo", "10.0");
  method<&ProcessInfo::isAtLeast>(info, "isOperatingSystemAtLeastVersion:", "10.10");
  method<&ProcessInfo::versionString>(info, "operatingSystemVersionString", "10.2");
}

}  // namespace metalsim

// Text values of the system, with their final zero, as sysctl(3) has it: *length is
// the room at value, then the length; a null value asks for the length alone.
EXPORT int sysctlbyname(const char *name, void *value, size_t *length, const void *, size_t) {
  using namespace metalsim;
  const std::map<std::string, std::string> known = {{"kern.osproductversion", std::to_string(config().os) + ".0"},
                                                    {"kern.osversion", systemBuild}};
  const auto found = known.find(name);
  if (found == known.end() || !length) {
    errno = ENOENT;
    return -1;
  }
  const size_t room = *length, needed = found->second.size() + 1;
  *length = needed;
  if (!value) return 0;
  if (room < needed) {
    errno = ENOMEM;
    return -1;
  }
  memcpy(value, found->second.c_str(), needed);
  return 0;
}
