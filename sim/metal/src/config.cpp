#include "config.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>

#include "../../common/random.h"
#include "rules.h"

namespace metalsim {
namespace {

const char *variable(const char *name) {
  const char *v = getenv(name);
  return v && *v ? v : nullptr;
}

uint64_t number(const char *name, const char *text) {
  char *end;
  const uint64_t n = strtoull(text, &end, 10);
  REQUIRE(*end == 0, Rule::Configuration, "%s=%s is no number", name, text);
  return n;
}

uint64_t number(const char *name, uint64_t otherwise) {
  const char *v = variable(name);
  return v ? number(name, v) : otherwise;
}

// The faults that take no number happen every time.
bool isCounted(Fault f) { return f != Fault::IcbSegv && f != Fault::IcbHang && f != Fault::ArchiveSlow; }

// Parses KIND:N, or KIND alone.
void readFault(Config &c) {
  const char *v = variable("METALSIM_FAULT");
  if (!v) return;
  static const std::map<std::string, Fault> kinds = {{"device", Fault::Device},
                                                     {"alloc", Fault::Alloc},
                                                     {"library", Fault::Library},
                                                     {"pipeline", Fault::Pipeline},
                                                     {"queue", Fault::Queue},
                                                     {"commands", Fault::Commands},
                                                     {"encoder", Fault::Encoder},
                                                     {"residency", Fault::Residency},
                                                     {"archive", Fault::Archive},
                                                     {"archive-slow", Fault::ArchiveSlow},
                                                     {"replay", Fault::Replay},
                                                     {"lost", Fault::Lost},
                                                     {"wait-hang", Fault::WaitHang},
                                                     {"icb-segv", Fault::IcbSegv},
                                                     {"icb-hang", Fault::IcbHang}};
  const char *colon = strchr(v, ':');
  const auto kind = kinds.find(std::string(v, colon ? colon - v : strlen(v)));
  REQUIRE(kind != kinds.end() && isCounted(kind->second) == (colon != nullptr), Rule::Configuration, "METALSIM_FAULT=%s", v);
  c.fault = kind->second;
  if (colon) c.faultAt = number("METALSIM_FAULT", colon + 1);
}

// Parses KIND:FUNCTION.
void readRefusal(Config &c) {
  const char *v = variable("METALSIM_REFUSE");
  if (!v) return;
  const std::string text = v;
  const size_t colon = text.find(':');
  c.refused = text.substr(0, colon);
  REQUIRE(colon != std::string::npos && colon + 1 < text.size() &&
              (c.refused == "library" || c.refused == "pipeline" || c.refused == "indirect"),
          Rule::Configuration, "METALSIM_REFUSE=%s", v);
  c.refusedFunction = text.substr(colon + 1);
}

// Parses FUNCTION:N.
void readFewThreads(Config &c) {
  const char *v = variable("METALSIM_MAX_THREADS_OF");
  if (!v) return;
  const char *colon = strchr(v, ':');
  REQUIRE(colon, Rule::Configuration, "METALSIM_MAX_THREADS_OF=%s", v);
  c.fewThreadsOf = std::string(v, colon - v);
  c.fewThreads = number("METALSIM_MAX_THREADS_OF", colon + 1);
}

Config read() {
  Config c;
  c.os = static_cast<int>(number("METALSIM_OS", c.os));
  REQUIRE(c.os == 13 || c.os == 14 || c.os == 15 || c.os == 26 || c.os == 27, Rule::Configuration,
          "METALSIM_OS=%d; known are 13, 14, 15, 26 and 27", c.os);
  const char *gpu = variable("METALSIM_GPU");
  c.gpu = gpuNamed(gpu ? gpu : "m3");
  REQUIRE(c.gpu, Rule::Configuration, "METALSIM_GPU=%s; known are %s", gpu, gpuNames().c_str());
  c.seed = number("METALSIM_SEED", c.seed);
  c.storeDelay = number("METALSIM_STORE_DELAY", 0ul) != 0;
  c.maxBuffer = number("METALSIM_MAX_BUFFER", c.gpu->maxBuffer);
  c.workingSet = number("METALSIM_WORKING_SET", c.gpu->workingSet);
  c.maxThreads = number("METALSIM_MAX_THREADS", c.maxThreads);
  c.trace = number("METALSIM_TRACE", 0ul) != 0;
  c.strict = number("METALSIM_STRICT", 0ul) != 0;
  if (const char *v = variable("METALSIM_KERNELS")) {
    static const std::map<std::string, Kernels> modes = {
        {"run", Kernels::Run}, {"fast", Kernels::Fast}, {"stub", Kernels::Stub}};
    const auto mode = modes.find(v);
    REQUIRE(mode != modes.end(), Rule::Configuration, "METALSIM_KERNELS=%s", v);
    c.kernels = mode->second;
  }
  const char *root = variable("METALSIM_ROOT");
  c.root = root ? root : METALSIM_DEFAULT_ROOT;
  if (const char *v = variable("METALSIM_REPORT")) c.report = v;
  REQUIRE(!c.storeDelay || c.kernels != Kernels::Fast, Rule::Configuration, "METALSIM_STORE_DELAY needs checked kernels");
  if (const char *v = variable("METALSIM_WORK")) c.work = v;
  if (const char *v = variable("METALSIM_SPEED")) {
    char *end;
    c.speed = strtod(v, &end);
    REQUIRE(*end == 0 && c.speed > 0, Rule::Configuration, "METALSIM_SPEED=%s is no speed", v);
  }
  c.bufferMs = number("METALSIM_BUFFER_MS", c.bufferMs);
  c.dispatchMs = number("METALSIM_DISPATCH_MS", c.dispatchMs);
  readFault(c);
  readRefusal(c);
  readFewThreads(c);
  return c;
}

}  // namespace

const Config &config() {
  static const Config c = read();
  return c;
}

bool refused(const char *kind, const std::string &function) {
  return config().refused == kind && config().refusedFunction == function;
}

bool faultNow(Fault kind) {
  static std::atomic<uint64_t> count[static_cast<int>(Fault::Count)];
  const uint64_t n = ++count[static_cast<int>(kind)];
  if (config().fault != kind) return false;
  return !isCounted(kind) || n == config().faultAt || (kind == Fault::Lost && n > config().faultAt);
}

uint64_t nextRandom() {
  static std::atomic<uint64_t> state{config().seed};
  return simcommon::nextRandom(state);
}

}  // namespace metalsim
