// Residency sets (macOS 15).
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
  void requestResidency() {}
  void endResidency() {}
  bool contains(Allocation *a) { return added.count(a); }
  void dealloc() override;
};

Object *newResidencySet(ResidencySetDescriptor *d, Error **error);

void defineResidency();

}  // namespace metalsim
