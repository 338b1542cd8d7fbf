#include "protocol.h"

#include <map>

#include "export.h"

namespace metalsim {
namespace {

struct Declared {
  const char *since;
  Protocol *object;  // made when it is asked for
};

std::map<std::string, Declared> &protocols() {
  static auto &m = *new std::map<std::string, Declared>;
  return m;
}

}  // namespace

void defineProtocol(const char *name, const char *since) { protocols()[name] = {since, nullptr}; }

void conform(Class *c, const char *protocol, const char *since) { c->protocols[protocol] = since; }

bool conforms(const Class *c, const std::string &protocol) {
  for (; c; c = c->super)
    if (const auto p = c->protocols.find(protocol); p != c->protocols.end()) return available(p->second);
  return false;
}

bool Object::conformsToProtocol(Protocol *p) {
  REQUIRE(p, Rule::NilArgument, "conformsToProtocol:");
  return conforms(isa, p->name);
}

}  // namespace metalsim

using namespace metalsim;

EXPORT void *objc_getProtocol(const char *name) {
  std::lock_guard guard(apiLock());
  const auto p = protocols().find(name);
  if (p == protocols().end() || !available(p->second.since)) return nullptr;
  if (!p->second.object) {
    p->second.object = make<Protocol>(name);
    hold(p->second.object);
    p->second.object->release();
  }
  return p->second.object;
}
