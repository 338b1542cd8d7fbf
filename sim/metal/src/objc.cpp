#include "objc.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <shared_mutex>
#include <unordered_set>

#include "config.h"
#include "export.h"
#include "foundation.h"
#include "report.h"

namespace metalsim {
namespace {

// The state of the Objective-C runtime. It is never destroyed, because threads may outlive statics.
struct Runtime {
  std::shared_mutex mutex;
  std::map<std::string, Class *> classes;
  std::unordered_set<const void *> classPointers;
  std::unordered_set<const void *> objects;  // living and dead
  std::set<std::string> selectors;
};

Runtime &runtime() {
  static Runtime &r = *new Runtime;
  return r;
}

const Method *find(Class *c, SEL sel, bool ofClass) {
  for (; c; c = c->super) {
    const auto &methods = ofClass ? c->classMethods : c->instanceMethods;
    if (const auto m = methods.find(sel); m != methods.end()) return &m->second;
  }
  return nullptr;
}

}  // namespace

std::recursive_mutex &apiLock() {
  static std::recursive_mutex &m = *new std::recursive_mutex;
  return m;
}

Class *defineClass(const char *name, Class *super, const char *since, bool isProtocol) {
  Runtime &r = runtime();
  std::unique_lock lock(r.mutex);
  Class *c = new Class{name, super, since, isProtocol, {}, {}, {}};
  r.classes[name] = c;
  r.classPointers.insert(c);
  return c;
}

SEL selector(const char *name) {
  Runtime &r = runtime();
  std::unique_lock lock(r.mutex);
  return r.selectors.insert(name).first->c_str();
}

bool available(const char *since) { return atoi(since) <= config().os; }

void registerObject(Object *o) {
  {
    Runtime &r = runtime();
    std::unique_lock lock(r.mutex);
    r.objects.insert(o);
  }
  report::born(o);
}

std::string nameOf(const Object *o) {
  std::string s = o->isa->name;
  if (!o->label.empty()) s += " '" + o->label + "'";
  return s;
}

Object *checkedObject(void *p, SEL sel, int argument) {
  const std::string what =
      argument ? "argument " + std::to_string(argument) + " of " + sel : std::string("receiver of ") + sel;
  {
    Runtime &r = runtime();
    std::shared_lock lock(r.mutex);
    REQUIRE(!r.classPointers.count(p), Rule::ArgumentType, "%s is a class", what.c_str());
    REQUIRE(r.objects.count(p), Rule::NotAnObject, "%s is %p", what.c_str(), p);
  }
  Object *o = static_cast<Object *>(p);
  REQUIRE(!o->dead, Rule::UseAfterFree, "%s is %s", what.c_str(), nameOf(o).c_str());
  return o;
}

void hold(Object *o) {
  if (o) o->held++;
}

static void dieIfUnreferenced(Object *o) {
  if (o->owned || o->held) return;
  o->dead = true;
  o->dealloc();
  report::died(o);
}

void drop(Object *o) {
  if (!o) return;
  o->held--;
  dieIfUnreferenced(o);
}

Object *Object::retain() {
  if (owned++ == 0) report::owners(+1);
  return this;
}

void Object::release() {
  REQUIRE(owned > 0, Rule::OverRelease, "%s", nameOf(this).c_str());
  REQUIRE(owned > pending, Rule::OverRelease, "%s belongs to an autorelease pool",
          nameOf(this).c_str());
  if (--owned == 0) report::owners(-1);
  dieIfUnreferenced(this);
}

bool Object::respondsToSelector(SEL sel) {
  const Method *m = find(isa, sel, false);
  return m && available(m->since);
}

void Object::setLabel(String *text) { label = text ? text->text : ""; }

}  // namespace metalsim

using namespace metalsim;

EXPORT SEL sel_registerName(const char *name) { return selector(name); }

EXPORT const char *sel_getName(SEL sel) { return sel; }

EXPORT void *objc_getClass(const char *name) {
  Runtime &r = runtime();
  std::shared_lock lock(r.mutex);
  const auto c = r.classes.find(name);
  if (c == r.classes.end() || c->second->isProtocol || !available(c->second->since)) return nullptr;
  return c->second;
}

// Finds the function that objc_msgSend jumps to.
extern "C" __attribute__((visibility("hidden"))) void (*metalsim_lookup(void *self, SEL sel))() {
  Runtime &r = runtime();
  bool isClass, isSelector;
  {
    std::shared_lock lock(r.mutex);
    isClass = r.classPointers.count(self);
    const auto s = sel ? r.selectors.find(sel) : r.selectors.end();
    isSelector = s != r.selectors.end() && s->c_str() == sel;
  }
  REQUIRE(isSelector, Rule::UnregisteredSelector, "%s", sel ? sel : "(null)");
  REQUIRE(self, Rule::NilReceiver, "%s", sel);
  Class *c = isClass ? static_cast<Class *>(self) : checkedObject(self, sel, 0)->isa;
  if (config().trace) fprintf(stderr, "[metalsim] %c[%s %s]\n", isClass ? '+' : '-', c->name, sel);
  const Method *m = find(c, sel, isClass);
  REQUIRE(m, Rule::UnknownSelector, "%c[%s %s]", isClass ? '+' : '-', c->name, sel);
  REQUIRE(available(m->since), Rule::OsGated, "[%s %s] needs macOS %s, this is %d", c->name, sel,
          m->since, config().os);
  return m->imp;
}

// All methods, one a line: class, '-' or '+' and selector, types, first macOS.
EXPORT const char *metalsim_methods() {
  static const std::string &text = *new std::string([] {
    std::string s;
    auto list = [&](Class *c, char sign, auto &methods) {
      std::map<std::string, const Method *> sorted;
      for (const auto &[sel, m] : methods) sorted[sel] = &m;
      for (const auto &[sel, m] : sorted)
        s += std::string(c->name) + "\t" + sign + sel + "\t" + m->types + "\t" + m->since + "\n";
    };
    Runtime &r = runtime();
    std::shared_lock lock(r.mutex);
    for (const auto &[name, c] : r.classes) {
      list(c, '+', c->classMethods);
      list(c, '-', c->instanceMethods);
    }
    return s;
  }());
  return text.c_str();
}
