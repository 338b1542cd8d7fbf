// Libraries, functions, compute pipelines and binary archives.
#pragma once

#include <algorithm>
#include <set>

#include "../../exec/library.h"
#include "buffer.h"
#include "config.h"
#include "foundation.h"

namespace metalsim {

struct CompileOptions : Object {
  uint64_t languageVersion = 0;  // 0: the newest
  bool safeMath = false;          // MTLMathModeSafe
  bool preciseFunctions = false;  // MTLMathFloatingPointFunctionsPrecise
  void setLanguageVersion(uint64_t v) { languageVersion = v; }
  void setFastMathEnabled(bool fast);
  void setMathMode(int64_t mode) { safeMath = mode == 0; }
  void setMathFloatingPointFunctions(int64_t functions) { preciseFunctions = functions == 1; }
};

struct Library : Object {
  msl::KernelTable kernels;
  Object *newFunctionWithName(String *name);
};

struct Function : Object {
  const msl_kernel *kernel;
  explicit Function(const msl_kernel *k) : kernel(k) {}
  Object *name() { return autoreleasedString(kernel->name); }
};

struct PipelineDescriptor : Object {
  Ref<Function> function;
  Ref<Array> archives;
  bool supportsIndirect = false;
  bool persistent = false;
  void setOptimizeForPersistentKernel(bool yes) { persistent = yes; }
  std::string archived() const;  // its entry in an archive
  void setComputeFunction(Function *f) { function = f; }
  void setSupportIndirectCommandBuffers(bool yes) { supportsIndirect = yes; }
  void setBinaryArchives(Array *a) { archives = a; }
  void dealloc() override;
};

struct Pipeline : Allocation {
  const msl_kernel *kernel;
  bool supportsIndirect, persistent;
  Pipeline(const msl_kernel *k, bool indirect, bool p) : kernel(k), supportsIndirect(indirect), persistent(p) {}
  uint64_t maxTotalThreadsPerThreadgroup() {
    const bool few = config().fewThreadsOf == kernel->name;
    return std::min<uint64_t>(kernel->max_threads, few ? config().fewThreads : config().maxThreads);
  }
  uint64_t threadExecutionWidth() { return 32; }
  uint64_t recommendedPersistentThreadgroups(Size threads);
  uint64_t staticThreadgroupMemoryLength() { return kernel->threadgroup_bytes; }
  bool supportIndirectCommandBuffers() { return supportsIndirect; }
  uint64_t allocatedSize() override { return 16384; }
};

struct ArchiveDescriptor : Object {
  Ref<Url> url;
  void setUrl(Url *u) { url = u; }
  void dealloc() override { url = nullptr; }
};

struct Archive : Object {
  std::set<std::string> functions;
  bool add(PipelineDescriptor *d, Error **error);
  bool serializeToUrl(Url *url, Error **error);
};

Object *newLibraryWithSource(String *source, CompileOptions *options, Error **error);
Object *newLibraryWithUrl(Url *url, Error **error);
Object *newPipeline(PipelineDescriptor *d, uint64_t options, Error **error);
Object *newArchive(ArchiveDescriptor *d, Error **error);

void defineLibrary();

}  // namespace metalsim
