#include "object.h"

#include <cstdio>
#include <map>
#include <memory>

#include "memory.h"

namespace cudasim {
namespace {

std::map<CUhandle, std::unique_ptr<Object>> &objects() {
  static auto &m = *new std::map<CUhandle, std::unique_ptr<Object>>;
  return m;
}

}  // namespace

CUhandle born(Object *o) {
  static CUhandle last = 0x5100;  // below any mapped address
  o->handle = last += 16;
  objects()[o->handle].reset(o);
  return o->handle;
}

void destroy(Object *o) { objects().erase(o->handle); }

Object *find(CUhandle h) {
  const auto o = objects().find(h);
  return o == objects().end() ? nullptr : o->second.get();
}

int leaks() {
  int n = memory::leaks();
  for (const auto &[handle, o] : objects()) {
    if (!o->owned) continue;
    fprintf(stderr, "[cudasim] leaked: %s\n", o->name().c_str());
    n++;
  }
  return n;
}

}  // namespace cudasim

// Prints the objects that leaked and returns their number. Tests call it when everything should be
// released.
EXPORT int cudasim_leaks() {
  const cudasim::Call call(__func__, cudasim::Needs::Nothing);
  return cudasim::leaks();
}
