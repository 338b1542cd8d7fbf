#include "library.h"

#include <unistd.h>

#include <cinttypes>
#include <cstring>
#include <fstream>

#include "../../exec/build.h"
#include "config.h"
#include "contraction.h"
#include "duration.h"
#include "protocol.h"

namespace metalsim {
namespace {

constexpr uint64_t maxThreadgroupMemory = 32768;
constexpr uint64_t failOnArchiveMiss = 4;  // MTLPipelineOptionFailOnBinaryArchiveMiss
constexpr const char *archiveMagic = "metalsim binary archive";

// The newest MTLLanguageVersion of the simulated macOS.
uint64_t newestLanguage() {
  switch (config().os) {
    case 13: return 3 << 16;      // 3.0
    case 14: return 3 << 16 | 1;  // 3.1
    case 15: return 3 << 16 | 2;  // 3.2
    default: return 4 << 16;      // 4.0
  }
}

// Returns a feature of version 3.2 of the language that a source uses, or null.
const char *needs32(const std::string &source) {
  for (const char *word : {"thread_scope_device", "coherent("}) {
    if (source.find(word) != std::string::npos) return word;
  }
  return nullptr;
}

msl::Places places() { return {config().root + "/sim/exec", config().root + "/gen/msl/frontend/include"}; }

// Compiles without the lock, because compiling takes seconds and other threads must continue.
msl::KernelTable compileUnlocked(const std::string &source, std::string &error) {
  const unsigned flags = config().kernels == Kernels::Run ? 0 : msl::buildFast;
  apiLock().unlock();
  const msl::KernelTable t = msl::compile(source, places(), flags, error);
  apiLock().lock();
  return t;
}

bool archiveFails(Error **error) {
  if (!faultNow(Fault::Archive)) return false;
  setError(error, 2, "MTLBinaryArchiveDomain", "injected failure of an archive");
  return true;
}

Object *libraryOf(msl::KernelTable kernels, const std::string &text, Error **error) {
  if (!kernels.first) {
    setError(error, 3, "MTLLibraryErrorDomain", text);
    return nullptr;
  }
  Library *l = make<Library>();
  l->kernels = kernels;
  return l;
}

}  // namespace

// Up to macOS 14 this property sets both the math mode and the functions. Later versions have a
// property for each. There this one is deprecated, and its effect on the functions is undocumented.
void CompileOptions::setFastMathEnabled(bool fast) {
  safeMath = !fast;
  preciseFunctions = !fast && config().os < 15;
}

Object *newLibraryWithSource(String *source, CompileOptions *options, Error **error) {
  REQUIRE(source, Rule::NilArgument, "newLibraryWithSource:options:error:");
  REQUIRE(options && options->safeMath, Rule::MathMode,
          "newLibraryWithSource:options:error: would compile with fast math, the default");
  REQUIRE(options->preciseFunctions, Rule::MathFunctions,
          "newLibraryWithSource:options:error: would compile exp as fast::exp, the default");
  if (options->languageVersion > newestLanguage()) {
    setError(error, 3, "MTLLibraryErrorDomain",
             "language version " + std::to_string(options->languageVersion) + " needs a newer macOS than " +
                 std::to_string(config().os));
    return nullptr;
  }
  const uint64_t language = options->languageVersion ? options->languageVersion : newestLanguage();
  if (const char *word = needs32(source->text); word && language < (3 << 16 | 2)) {
    setError(error, 3, "MTLLibraryErrorDomain", std::string("program_source: ") + word + " needs version 3.2 of the language");
    return nullptr;
  }
  const int version = static_cast<int>((language >> 16) * 100 + (language & 0xffff) * 10);
  REQUIRE(forbidsContraction(source->text, version), Rule::MathContraction,
          "newLibraryWithSource:options:error: in version %d.%d of the language", version / 100, version / 10 % 10);
  if (config().refused == "library" && source->text.find(" " + config().refusedFunction + "(") != std::string::npos) {
    setError(error, 3, "MTLLibraryErrorDomain", "program_source: injected error in " + config().refusedFunction);
    return nullptr;
  }
  if (faultNow(Fault::Library)) {
    setError(error, 2, "MTLLibraryErrorDomain", "injected failure of the compiler");
    return nullptr;
  }
  std::string text;
  const msl::KernelTable kernels = compileUnlocked(source->text, text);
  return libraryOf(kernels, text, error);
}

Object *newLibraryWithUrl(Url *url, Error **error) {
  REQUIRE(url, Rule::NilArgument, "newLibraryWithURL:error:");
  std::string text;
  const msl::KernelTable kernels = msl::load(url->file, places(), text);
  return libraryOf(kernels, text, error);
}

Object *Library::newFunctionWithName(String *name) {
  REQUIRE(name, Rule::NilArgument, "newFunctionWithName:");
  for (uint32_t i = 0; i < kernels.count; i++)
    if (name->text == kernels.first[i].name) return make<Function>(&kernels.first[i]);
  return nullptr;
}

void PipelineDescriptor::dealloc() {
  function = nullptr;
  archives = nullptr;
}

Object *newPipeline(PipelineDescriptor *d, uint64_t options, Error **error) {
  REQUIRE(d, Rule::NilArgument, "newComputePipelineStateWithDescriptor:options:reflection:error:");
  REQUIRE(d->function, Rule::FunctionMissing, "%s", nameOf(d).c_str());
  const msl_kernel *k = d->function->kernel;
  if (d->supportsIndirect && refused("indirect", k->name)) {
    setError(error, 3, "AGXMetal", "Compute function cannot be used with indirect command buffers");
    return nullptr;
  }
  if (faultNow(Fault::Pipeline) || refused("pipeline", k->name)) {
    setError(error, 2, "MTLPipelineErrorDomain", std::string("injected failure: ") + k->name);
    return nullptr;
  }
  if (k->threadgroup_bytes > maxThreadgroupMemory) {
    setError(error, 2, "MTLPipelineErrorDomain",
             std::string(k->name) + ": threadgroup memory of " + std::to_string(k->threadgroup_bytes) + " bytes exceeds 32768");
    return nullptr;
  }
  if (options & failOnArchiveMiss) {
    bool found = false;
    for (uint64_t i = 0; d->archives && i < d->archives->count(); i++)
      if (auto *a = dynamic_cast<Archive *>(d->archives->at(i))) found = found || a->functions.count(d->archived());
    if (!found) {
      setError(error, 2, "MTLPipelineErrorDomain", std::string(k->name) + " is in no binary archive");
      return nullptr;
    }
  }
  Pipeline *p = make<Pipeline>(k, d->supportsIndirect, d->persistent);
  p->label = d->label.empty() ? k->name : d->label;
  return p;
}

std::string PipelineDescriptor::archived() const {
  return std::string(function->kernel->name) + (persistent ? " persistent" : "");
}

Object *newArchive(ArchiveDescriptor *d, Error **error) {
  REQUIRE(d, Rule::NilArgument, "newBinaryArchiveWithDescriptor:error:");
  if (archiveFails(error)) return nullptr;
  Archive *a = make<Archive>();
  if (!d->url) return a;
  std::ifstream in(d->url->file);
  std::string line;
  if (!std::getline(in, line) || line != archiveMagic) {
    setError(error, 1, "MTLBinaryArchiveDomain", d->url->file + " is no binary archive");
    a->release();
    return nullptr;
  }
  while (std::getline(in, line)) a->functions.insert(line);
  return a;
}

bool Archive::add(PipelineDescriptor *d, Error **error) {
  REQUIRE(d && d->function, Rule::FunctionMissing, "addComputePipelineFunctionsWithDescriptor:error:");
  if (faultNow(Fault::ArchiveSlow)) {  // without the lock, like a compilation
    apiLock().unlock();
    usleep(200000);
    apiLock().lock();
  }
  if (archiveFails(error)) return false;
  functions.insert(d->archived());
  return true;
}

bool Archive::serializeToUrl(Url *url, Error **error) {
  REQUIRE(url, Rule::NilArgument, "serializeToURL:error:");
  std::ofstream out(url->file);
  out << archiveMagic << '\n';
  if (archiveFails(error)) return false;  // a partial file is left
  for (const auto &f : functions) out << f << '\n';
  out.close();
  if (!out) setError(error, 1, "MTLBinaryArchiveDomain", url->file + ": " + strerror(errno));
  return bool(out);
}

// Real values are unpublished. This returns as many threadgroups per core as fit into half of its
// 24 simdgroups.
uint64_t Pipeline::recommendedPersistentThreadgroups(Size threads) {
  REQUIRE(persistent, Rule::PersistentKernel, "%s", nameOf(this).c_str());
  const uint64_t all = threads.width * threads.height * threads.depth;
  REQUIRE(all > 0 && all <= maxTotalThreadsPerThreadgroup(), Rule::GridSize, "%llu threads of a persistent threadgroup",
          static_cast<unsigned long long>(all));
  return duration::cores() * std::max<uint64_t>(1, 12 * 32 / all);
}

void defineLibrary() {
  Class *object = classOf<Object>;
  Class *options = classOf<CompileOptions> = defineClass("MTLCompileOptions", object, "10.11", false);
  classMethod<&makeDefault<CompileOptions>>(options, "new", "10.11");
  method<&CompileOptions::setLanguageVersion>(options, "setLanguageVersion:", "10.11");
  method<&CompileOptions::setFastMathEnabled>(options, "setFastMathEnabled:", "10.11");
  method<&CompileOptions::setMathMode>(options, "setMathMode:", "15.0");
  method<&CompileOptions::setMathFloatingPointFunctions>(options, "setMathFloatingPointFunctions:", "15.0");

  Class *library = classOf<Library> = defineClass("MTLLibrary", object, "10.11", true);
  method<&Library::newFunctionWithName>(library, "newFunctionWithName:", "10.11");

  Class *function = classOf<Function> = defineClass("MTLFunction", object, "10.11", true);
  method<&Function::name>(function, "name", "10.11");

  Class *descriptor = classOf<PipelineDescriptor> = defineClass("MTLComputePipelineDescriptor", object, "10.11", false);
  classMethod<&makeDefault<PipelineDescriptor>>(descriptor, "new", "10.11");
  method<&PipelineDescriptor::setComputeFunction>(descriptor, "setComputeFunction:", "10.11");
  method<&PipelineDescriptor::setSupportIndirectCommandBuffers>(descriptor, "setSupportIndirectCommandBuffers:", "11.0");
  method<&PipelineDescriptor::setOptimizeForPersistentKernel>(descriptor, "setOptimizeForPersistentKernel:", "27.0");
  method<&PipelineDescriptor::setBinaryArchives>(descriptor, "setBinaryArchives:", "11.0");
  method<&Object::setLabel>(descriptor, "setLabel:", "10.11");

  Class *pipeline = classOf<Pipeline> = defineClass("MTLComputePipelineState", classOf<Allocation>, "10.11", true);
  conform(pipeline, "MTLAllocation", "26.0");
  method<&Pipeline::maxTotalThreadsPerThreadgroup>(pipeline, "maxTotalThreadsPerThreadgroup", "10.11");
  method<&Pipeline::threadExecutionWidth>(pipeline, "threadExecutionWidth", "10.11");
  method<&Pipeline::recommendedPersistentThreadgroups>(
      pipeline, "recommendedPersistentThreadgroupsPerGridForThreadsPerThreadgroup:", "27.0");
  method<&Pipeline::staticThreadgroupMemoryLength>(pipeline, "staticThreadgroupMemoryLength", "10.13");
  method<&Pipeline::supportIndirectCommandBuffers>(pipeline, "supportIndirectCommandBuffers", "11.0");

  Class *archiveDescriptor = classOf<ArchiveDescriptor> = defineClass("MTLBinaryArchiveDescriptor", object, "11.0", false);
  classMethod<&makeDefault<ArchiveDescriptor>>(archiveDescriptor, "new", "11.0");
  method<&ArchiveDescriptor::setUrl>(archiveDescriptor, "setUrl:", "11.0");

  Class *archive = classOf<Archive> = defineClass("MTLBinaryArchive", object, "11.0", true);
  method<&Archive::add>(archive, "addComputePipelineFunctionsWithDescriptor:error:", "11.0");
  method<&Archive::serializeToUrl>(archive, "serializeToURL:error:", "11.0");
}

}  // namespace metalsim
