// Residency sets (macOS 15).
//
// macOS un-wires the memory of sets that were not used for a second (A24). The next command buffer
// then waits until the memory is wired again. No rule forbids that, so it is only counted, see
// report.h. Time passes only by metalsim_pass, so that tests need not wait.
#pragma once

#include <set>

#include "buffer.h"

namespace metalsim {

struct ResidencySetDescriptor : Object {
  void setInitialCapacity(uint64_t) {}
};

struct ResidencySet : Object {
  std::set<Allocation *> added, committed;  // changes count after commit
  void add(Allocation *a);
  void addMany(Object *const *list, uint64_t n);
  void remove(Allocation *a);
  void removeAll();
  void commit() { committed = added; }
  void requestResidency();
  void endResidency() { wired = false; }
  // Called when a command buffer needs the set. It wires the set if it was un-wired.
  void use();
  bool contains(Allocation *a) { return added.count(a); }
  void dealloc() override;

 private:
  bool wired = false;
  double used = 0;  // when it was requested or used last
  void wire();
};

Object *newResidencySet(ResidencySetDescriptor *d, Error **error);

void defineResidency();

}  // namespace metalsim
