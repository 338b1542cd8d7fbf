// The objects that handles refer to. A handle is a number that is never reused, so the use of a
// handle after its object was destroyed is noticed.
#pragma once

#include <string>

#include "driver.h"

namespace cudasim {

struct Object {
  CUhandle handle = 0;
  bool owned = true;  // the program must destroy it
  virtual ~Object() = default;
  virtual const char *kind() const = 0;
  std::string name() const { return std::string(kind()) + " " + std::to_string(handle); }
};

// Registers an object and returns its handle.
CUhandle born(Object *o);
// Deletes an object.
void destroy(Object *o);

Object *find(CUhandle h);

// Returns the object of a handle. It is a rule that the handle refers to a living object of this type.
template <typename T>
T *get(CUhandle h) {
  auto *o = dynamic_cast<T *>(find(h));
  REQUIRE(o, Rule::BadHandle, "%s %#lx", T::name_of_kind, static_cast<unsigned long>(h));
  return o;
}

// Number of objects that the program has not destroyed, each printed to stderr.
int leaks();

// Objects with a kind that messages name.
template <typename T>
struct Named : Object {
  const char *kind() const override { return T::name_of_kind; }
};

}  // namespace cudasim
