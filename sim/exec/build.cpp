#include "build.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <fstream>
#include <sstream>

#include "translate.h"

extern char **environ;

namespace msl {
namespace {

using Words = std::vector<std::string>;

// The machine that the object is for: the one that this program is for. Under an
// emulator clang is another machine's.
const Words machine = {
#if defined(__x86_64__)
    "-march=native",  // fma and half conversions in hardware: the same bits, faster
#elif defined(__aarch64__) && defined(__linux__)
    "--target=aarch64-linux-gnu",
#endif
};

// What -march=native looks at.
std::string processor() {
  std::string text;
#if defined(__x86_64__)
  for (const unsigned leaf : {1u, 7u, 0x80000001u}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, 0, &a, &b, &c, &d);
    if (leaf == 1) b = 0;  // the number of the core
    for (const unsigned v : {a, b, c, d}) text += std::to_string(v) + " ";
  }
#endif
  return text;
}

const Words frames = {"-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls"};

// Convergent functions and no merged tails: threads at different places stay so.
// Contraction as Metal's compiler has it: the source's pragma turns it off. Frame
// pointers: call_path.
const Words kernelFlags = {"-x", "c++", "-std=c++14", "-c", "-fPIC", "-fvisibility=hidden", "-fno-plt", "-fno-exceptions", "-fno-rtti",
                           "-ffp-contract=on", "-Werror=unknown-pragmas", "-fno-math-errno", "-fconvergent-functions", "-mllvm", "-enable-tail-merge=0",
                           "-DUNROLL=", "-DIN_FLIGHT=", "-DBOTH_IN_FLIGHT=", "-Wno-unknown-attributes", "-Wno-unused-function"};

const Words sanitizeFlags = {"-fsanitize=address,undefined", "-fno-sanitize=vptr,alignment", "-fno-sanitize-recover=all", "-g"};

// The CPU's vectors would only make the hooks slower. same-temp would leave out a
// store after a load of the same address; hooks by size are for aligned accesses only,
// which is what mapping-scale is for.
const Words checkFlags = {"-fsanitize=kernel-address", "-fno-vectorize", "-fno-slp-vectorize",
                          "-mllvm", "-asan-instrumentation-with-call-threshold=0", "-mllvm", "-asan-stack=0", "-mllvm", "-asan-globals=0",
                          "-mllvm", "-asan-opt-same-temp=0", "-mllvm", "-asan-memory-access-callback-prefix=msl_", "-mllvm", "-asan-mapping-scale=4",
                          "-mllvm", "-asan-kernel-mem-intrinsic-prefix"};

// What the run time has is bound when the object is loaded.
const Words linkFlags = {"-shared",
#if defined(__APPLE__)
                         "-Wl,-undefined,dynamic_lookup",
#endif
                         "-lm", "-pthread"};

const Words runTimeFlags = {"-x", "c++", "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
                            "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"};

// MSL's address spaces are those of C++ for OpenCL.
const Words parseFlags = {"-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-triple", "spir64-unknown-unknown",
                          "-cl-ext=+cl_khr_fp16,-cl_khr_fp64,-__opencl_c_fp64,-__opencl_c_program_scope_global_variables,-__opencl_c_pipes,-__opencl_c_device_enqueue",
                          "-fsyntax-only", "-Wall", "-Wno-unknown-attributes", "-Wno-unused-function"};

void add(Words &to, const Words &more) { to.insert(to.end(), more.begin(), more.end()); }

std::string read(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool write(const std::string &path, const std::string &text, std::string &error) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) error = "cannot write " + path;
  return bool(out);
}

// Runs a program, its output in log; true when it succeeds.
bool run(const Words &command, const std::string &log) {
  std::vector<char *> argv;
  for (const std::string &w : command) argv.push_back(const_cast<char *>(w.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return !failed && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The path of a program in PATH; "" without one.
std::string found(const std::string &name) {
  const char *path = getenv("PATH");
  std::istringstream folders(name[0] == '/' || !path ? "" : path);
  std::string folder, file = name[0] == '/' ? name : "";
  while (file.empty() && std::getline(folders, folder, ':'))
    if (const std::string at = folder + "/" + name; access(at.c_str(), X_OK) == 0) file = at;
  return !file.empty() && access(file.c_str(), X_OK) == 0 ? file : "";
}

// Apple's clang does not know C++ for OpenCL; Homebrew's does.
std::string findClang() {
  for (const char *name : {"clang-19", "/opt/homebrew/opt/llvm@19/bin/clang", "/opt/homebrew/opt/llvm/bin/clang", "/usr/local/opt/llvm/bin/clang", "clang"})
    if (const std::string path = found(name); !path.empty()) return path;
  return "";
}

}  // namespace

Compiler::Compiler(std::string exec, const char *language, unsigned flags)
    : exec_(std::move(exec)), language_(std::string("-D__METAL_VERSION__=") + language), clang_(findClang()), flags_(flags) {}

// To run the compiler for its version would take longer than all else of a program whose
// kernels are there.
std::string Compiler::name() const {
  struct stat s = {};
  stat(clang_.c_str(), &s);
  std::string text = clang_ + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtime) + "\n" + processor() + "\n" + language_ + " " + std::to_string(flags_);
  for (const Words *list : {&machine, &frames, &kernelFlags, &sanitizeFlags, &checkFlags, &linkFlags, &runTimeFlags, &parseFlags})
    for (const std::string &w : *list) text += " " + w;
  return text;
}

bool Compiler::clang(const Words &arguments, const std::string &work, const char *what, std::string &error) const {
  if (clang_.empty()) {
    error = "running kernels on the CPU needs clang: apt-get install clang-19";
    return false;
  }
  Words command = {clang_};
  if (arguments[0] != "-cc1") add(command, machine);
  add(command, arguments);
  const std::string log = work + "/clang.log";
  if (run(command, log)) return true;
  error = std::string(what) + ":\n" + read(log);
  return false;
}

bool Compiler::parse(const std::string &source, const std::string &strict, const std::string &work, std::string &error) const {
  const std::string metal = work + "/kernels.metal";
  Words w = parseFlags;
  add(w, {"-I" + strict, language_, metal});
  return write(metal, source, error) && clang(w, work, "the strict front end rejects the source", error);
}

bool Compiler::kernels(const std::string &source, const std::string &work, const std::string &object, std::string &error) const {
  const std::string cpp = work + "/kernels.cpp", compiled = work + "/kernels.o", translated = translate(source, error);
  if (translated.empty() || !write(cpp, translated, error)) return false;
  Words w = kernelFlags;
  add(w, frames);
  // Generating code is nearly all of a kernel's time. Without optimisation it takes half of
  // it; loops over rows of real width, or over many tokens, lose more than that.
  w.push_back(flags_ & buildSmall ? "-O0" : "-O1");
  const bool checked = !(flags_ & (buildFast | buildSanitize));
  if (flags_ & buildSanitize) add(w, sanitizeFlags);
  if (checked) add(w, checkFlags);
  add(w, {checked ? "-DMSL_CHECKED=1" : "-DMSL_CHECKED=0", language_, "-I" + exec_ + "/include", cpp, "-o", compiled});
  if (!clang(w, work, "clang rejects the source", error)) return false;
  Words l = {"-o", object, compiled};
  add(l, linkFlags);
  return clang(l, work, "cannot link", error);
}

bool Compiler::runTime(const std::string &work, const std::string &object, std::string &error) const {
  Words w = runTimeFlags;
  add(w, {"-o", object});
  for (const char *name : {"launch", "fiber", "memory", "check", "copies", "overlay", "touched"}) w.push_back(exec_ + "/runtime/" + name + ".cpp");
  add(w, linkFlags);
  return clang(w, work, "cannot compile the run time", error);
}

const char *languageOf(const std::string &source) {
  return source.find("#if __METAL_VERSION__ < 320\n#error") == std::string::npos ? "310" : "320";
}

}  // namespace msl
