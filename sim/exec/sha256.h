// SHA-256 (FIPS 180-4).
#pragma once

#include <string>

namespace msl {

// The digest of a text, in lower-case hexadecimal.
std::string sha256(const std::string &text);

}  // namespace msl
