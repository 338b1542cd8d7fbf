// The driver, its devices and the primary context.
#include <cstring>
#include <map>

#include "object.h"

namespace cudasim {
namespace {

std::recursive_mutex &lock() {
  static auto &m = *new std::recursive_mutex;
  return m;
}

struct Context : Named<Context> {
  static constexpr const char *name_of_kind = "context";
};

bool initialised;
uint64_t retained;           // references to the primary context
Context *primary;            // alive while retained
thread_local CUhandle here;  // the current context of this thread
bool lost;                   // an injected failure that all later calls return

}  // namespace

Call::Call(const char *name, Needs needs) : guard_(lock()) {
  static auto &count = *new std::map<std::string, uint64_t>;
  const Config &c = config();
  if (needs == Needs::Nothing) return;
  REQUIRE(initialised || !strcmp(name, "cuInit"), Rule::NotInitialised, "%s", name);
  if (needs == Needs::Context && !lost)
    REQUIRE(primary && here == primary->handle, Rule::NoContext, "%s", name);
  const bool fails = c.faultCall == name && ++count[name] == c.faultAt;
  lost = lost || (fails && c.faultStays);
  if (fails || (lost && needs == Needs::Context)) injected = c.faultCode;
}

}  // namespace cudasim

using namespace cudasim;

namespace {

bool known(CUdevice d) { return d >= 0 && d < config().devices; }

}  // namespace

EXPORT CUresult cuInit(unsigned flags) {
  ENTER(Driver);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (!config().devices) return CUDA_ERROR_NO_DEVICE;
  initialised = true;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *out) {
  ENTER(Nothing);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  *out = config().driver;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetCount(int *out) {
  ENTER(Driver);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  *out = config().devices;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *out, int i) {
  ENTER(Driver);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (!known(i)) return CUDA_ERROR_INVALID_DEVICE;
  *out = i;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *out, int bytes, CUdevice d) {
  ENTER(Driver);
  REQUIRE(out && bytes > 0, Rule::BadPointer, "%s", __func__);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  strncpy(out, "simulated NVIDIA GPU", bytes - 1);
  out[bytes - 1] = 0;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(uint64_t *out, CUdevice d) {
  ENTER(Driver);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  *out = config().memory;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetAttribute(int *out, int attribute, CUdevice d) {
  ENTER(Driver);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attribute) {
    case 16: *out = 4; return CUDA_SUCCESS;                              // MULTIPROCESSOR_COUNT
    case 38: *out = static_cast<int>(config().l2); return CUDA_SUCCESS;  // L2_CACHE_SIZE
    case 75: *out = config().capability / 10; return CUDA_SUCCESS;       // COMPUTE_CAPABILITY_MAJOR
    case 76: *out = config().capability % 10; return CUDA_SUCCESS;       // COMPUTE_CAPABILITY_MINOR
    case 97: *out = static_cast<int>(config().shared); return CUDA_SUCCESS;  // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
  }
  return CUDA_ERROR_INVALID_VALUE;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUhandle *out, CUdevice d) {
  ENTER(Driver);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  if (!primary) {
    primary = new Context;
    born(primary);
    primary->owned = false;  // counted by its references
  }
  retained++;
  *out = primary->handle;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  ENTER(Driver);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  REQUIRE(retained > 0, Rule::BadHandle, "%s: no reference is held", __func__);
  if (--retained > 0) return CUDA_SUCCESS;
  const int n = lost ? 0 : leaks();
  REQUIRE(n == 0, Rule::Leak, "%d things when the context went", n);
  destroy(primary);
  primary = nullptr;
  return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUhandle h) {
  ENTER(Driver);
  if (h) get<Context>(h);
  here = h;
  return CUDA_SUCCESS;
}

// The number of references to the primary context. It is 0 when everything is released.
EXPORT uint64_t cudasim_retained() { return retained; }
