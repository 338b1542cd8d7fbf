// Residency sets (macOS 15).
//
// macOS un-wires the memory of sets that nothing has used for a second (A24): what
// comes next has to wait until it is wired again. No rule forbids that, so it is only
// counted, see report.h. Time is what the program says (metalsim_pass), so that tests
// need not wait.
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
  // A command buffer needs the set: it is wired if it was not.
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
