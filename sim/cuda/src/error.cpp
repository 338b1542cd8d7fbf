// Names and descriptions of results.
#include <map>
#include <utility>

#include "driver.h"

namespace {

const std::map<CUresult, std::pair<const char *, const char *>> results = {
    {0, {"CUDA_SUCCESS", "no error"}},
    {1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
    {2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
    {100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
    {101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
    {218, {"CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"}},
    {500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
    {600, {"CUDA_ERROR_NOT_READY", "device not ready"}},
    {700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
};

CUresult text(CUresult code, const char **out, const char *std::pair<const char *, const char *>::*which) {
  REQUIRE(out, cudasim::Rule::BadPointer, "where to put the text of a result");
  const auto r = results.find(code);
  *out = r == results.end() ? nullptr : r->second.*which;
  return r == results.end() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

EXPORT CUresult cuGetErrorName(CUresult code, const char **out) {
  return text(code, out, &std::pair<const char *, const char *>::first);
}

EXPORT CUresult cuGetErrorString(CUresult code, const char **out) {
  return text(code, out, &std::pair<const char *, const char *>::second);
}
