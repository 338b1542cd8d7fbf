// The types of the CUDA driver API, and the code with which its functions begin. Every file of the
// simulator includes this. The names are NVIDIA's. Handles are numbers here.
#pragma once

#include <cstdint>
#include <mutex>

#include "config.h"
#include "rules.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUhandle = uint64_t;  // CUcontext, CUmodule, CUfunction, CUstream, CUevent, CUgraph, …

// The results that the simulator returns.
enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
};

namespace cudasim {

// The state that a function requires when it is called.
enum class Needs { Nothing, Driver, Context };

// Holds the lock during a call, and decides whether an injected fault makes the call fail.
class Call {
 public:
  Call(const char *name, Needs needs);
  CUresult injected = CUDA_SUCCESS;

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

// The first line of every function.
#define ENTER(needs)                                                                               \
  ::cudasim::Call call(__func__, ::cudasim::Needs::needs);                                         \
  if (call.injected) return call.injected

}  // namespace cudasim
