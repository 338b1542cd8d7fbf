#include "residency.h"

#include "config.h"
#include "export.h"
#include "foundation.h"
#include "protocol.h"
#include "report.h"

namespace metalsim {
namespace {

constexpr double unwiredAfter = 1;  // seconds; llama.cpp measured 1 to 1.2

double now;  // seconds passed by metalsim_pass

}  // namespace

Object *newResidencySet(ResidencySetDescriptor *d, Error **error) {
  REQUIRE(d, Rule::NilArgument, "newResidencySetWithDescriptor:error:");
  if (faultNow(Fault::Residency)) {
    setError(error, 2, "MTLResidencySetErrorDomain", "injected failure");
    return nullptr;
  }
  return make<ResidencySet>();
}

void ResidencySet::add(Allocation *a) {
  REQUIRE(a, Rule::NilArgument, "addAllocation:");
  REQUIRE(conforms(a->isa, "MTLAllocation"), Rule::SetMember, "%s", nameOf(a).c_str());
  if (!added.insert(a).second) return;
  hold(a);
  report::member();
}

void ResidencySet::addMany(Object *const *list, uint64_t n) {
  static const SEL sel = selector("addAllocations:count:");
  for (uint64_t i = 0; i < n; i++) {
    auto *a = dynamic_cast<Allocation *>(checkedObject(list[i], sel, 1));
    REQUIRE(a, Rule::ArgumentType, "%s is %s", sel, nameOf(list[i]).c_str());
    add(a);
  }
}

void ResidencySet::remove(Allocation *a) {
  if (!added.erase(a)) return;
  committed.erase(a);
  drop(a);
}

void ResidencySet::removeAll() {
  while (!added.empty()) remove(*added.begin());
}

void ResidencySet::wire() {
  wired = true;
  used = now;
}

void ResidencySet::requestResidency() {
  REQUIRE(committed == added, Rule::SetUncommitted, "%s", nameOf(this).c_str());
  report::requested();
  wire();
}

void ResidencySet::use() {
  if (!wired || now - used > unwiredAfter) report::unwired();
  wire();
}

void ResidencySet::dealloc() { removeAll(); }

void defineResidency() {
  Class *object = classOf<Object>;
  Class *d = classOf<ResidencySetDescriptor> = defineClass("MTLResidencySetDescriptor", object, "15.0", false);
  classMethod<&makeDefault<ResidencySetDescriptor>>(d, "new", "15.0");
  method<&ResidencySetDescriptor::setInitialCapacity>(d, "setInitialCapacity:", "15.0");
  method<&Object::setLabel>(d, "setLabel:", "15.0");

  Class *s = classOf<ResidencySet> = defineClass("MTLResidencySet", object, "15.0", true);
  method<&ResidencySet::add>(s, "addAllocation:", "15.0");
  method<&ResidencySet::addMany>(s, "addAllocations:count:", "15.0");
  method<&ResidencySet::remove>(s, "removeAllocation:", "15.0");
  method<&ResidencySet::removeAll>(s, "removeAllAllocations", "15.0");
  method<&ResidencySet::contains>(s, "containsAllocation:", "15.0");
  method<&ResidencySet::commit>(s, "commit", "15.0");
  method<&ResidencySet::requestResidency>(s, "requestResidency", "15.0");
  method<&ResidencySet::endResidency>(s, "endResidency", "15.0");
}

}  // namespace metalsim

// Advances the time.
EXPORT void metalsim_pass(double seconds) {
  std::lock_guard guard(metalsim::apiLock());
  metalsim::now += seconds;
}
