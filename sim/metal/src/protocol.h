// Protocols: which class conforms to which, and from which macOS version on.
#pragma once

#include "objc.h"

namespace metalsim {

// What objc_getProtocol gives. It lives as long as the process.
struct Protocol : Object {
  std::string name;
  explicit Protocol(std::string n) : name(std::move(n)) {}
};

// Declares a protocol that the system knows from a version on.
void defineProtocol(const char *name, const char *since);

// The class, and those below it, conform from a version on.
void conform(Class *c, const char *protocol, const char *since);

// Tells whether objects of the class conform in the simulated version.
bool conforms(const Class *c, const std::string &protocol);

}  // namespace metalsim
