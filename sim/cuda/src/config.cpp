#include "config.h"

#include <cstdlib>
#include <map>

#include "../../common/random.h"
#include "rules.h"

namespace cudasim {
namespace {

uint64_t number(const std::string &name, const std::string &text) {
  char *end;
  const uint64_t n = strtoull(text.c_str(), &end, 10);
  REQUIRE(!text.empty() && *end == 0, Rule::Configuration, "%s: %s is no number", name.c_str(), text.c_str());
  return n;
}

// Overwrites a default with a variable, if it is set.
template <typename T>
void set(T &value, const char *name) {
  const char *v = getenv(name);
  if (!v || !*v) return;
  if constexpr (std::is_same_v<T, std::string>)
    value = v;
  else
    value = static_cast<T>(number(name, v));
}

// Parses FUNCTION:N:CODE and FUNCTION:N:CODE+.
void readFault(Config &c, std::string text) {
  const size_t a = text.find(':'), b = text.rfind(':');
  REQUIRE(a != std::string::npos && b > a, Rule::Configuration, "CUDASIM_FAULT=%s", text.c_str());
  c.faultStays = text.back() == '+';
  if (c.faultStays) text.pop_back();
  c.faultCall = text.substr(0, a);
  c.faultAt = number("CUDASIM_FAULT", text.substr(a + 1, b - a - 1));
  c.faultCode = static_cast<int>(number("CUDASIM_FAULT", text.substr(b + 1)));
}

// Parses KERNEL:N.
void readFlip(Config &c, const std::string &text) {
  const size_t at = text.find(':');
  REQUIRE(at != std::string::npos && at > 0 && c.kernels == Kernels::Run, Rule::Configuration, "CUDASIM_FLIP=%s", text.c_str());
  c.flipKernel = text.substr(0, at);
  c.flipAt = number("CUDASIM_FLIP", text.substr(at + 1));
}

Config read() {
  Config c;
  c.root = CUDASIM_DEFAULT_ROOT;
  set(c.metal, "CUDASIM_METAL");
  set(c.driver, "CUDASIM_DRIVER");
  set(c.devices, "CUDASIM_DEVICES");
  set(c.capability, "CUDASIM_CAPABILITY");
  set(c.memory, "CUDASIM_MEMORY");
  set(c.l2, "CUDASIM_L2");
  set(c.shared, "CUDASIM_SHARED");
  set(c.seed, "CUDASIM_SEED");
  set(c.root, "CUDASIM_ROOT");
  std::string kernels = "run", fault, flip;
  set(kernels, "CUDASIM_KERNELS");
  static const std::map<std::string, Kernels> modes = {
      {"run", Kernels::Run}, {"fast", Kernels::Fast}, {"stub", Kernels::Stub}};
  const auto mode = modes.find(kernels);
  REQUIRE(mode != modes.end(), Rule::Configuration, "CUDASIM_KERNELS=%s", kernels.c_str());
  c.kernels = mode->second;
  set(fault, "CUDASIM_FAULT");
  if (!fault.empty()) readFault(c, fault);
  set(flip, "CUDASIM_FLIP");
  if (!flip.empty()) readFlip(c, flip);
  return c;
}

}  // namespace

const Config &config() {
  static const Config c = read();
  return c;
}

uint64_t nextRandom() {
  static uint64_t state = config().seed;
  return simcommon::nextRandom(state);
}

}  // namespace cudasim
