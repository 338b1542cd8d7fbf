#include "build.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include "translate.h"

extern char **environ;

namespace {
typedef std::vector<std::string> words;

// The machine that the object is for: the one that this program is for. Under an
// emulator clang is another machine's.
const words machine = {
#if defined(__x86_64__)
    "-march=native", // fma and half conversions in hardware: the same bits, faster
#elif defined(__aarch64__) && defined(__linux__)
    "--target=aarch64-linux-gnu",
#endif
};

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
bool run(const words &command, const std::string &log) {
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

// __METAL_VERSION__: 3.1, or what the source asks for.
const char *language(const std::string &source) {
  return source.find("#if __METAL_VERSION__ < 320\n#error") == std::string::npos ? "310" : "320";
}

class builder {
public:
  builder(const char *exec_dir, const char *strict_dir, const char *work_dir, const char *run_time, unsigned flags)
      : exec_(exec_dir), strict_(strict_dir ? strict_dir : ""), work_(work_dir), run_time_(run_time ? run_time : work_ + "/runtime.o"),
        log_(work_ + "/clang.log"), flags_(flags) {}

  bool build(const std::string &source, const std::string &so_path, std::string &error) {
    const std::string metal = work_ + "/kernels.metal", cpp = work_ + "/kernels.cpp";
    if (!find_clang(error) || !write(metal, source, error)) return false;
    if (!strict_.empty() && !clang(strict_parse(metal, language(source)), "the strict front end rejects the source", error)) return false;
    const std::string translated = translate(source, error);
    return !translated.empty() && write(cpp, translated, error) && clang(compile_kernels(cpp, language(source)), "clang rejects the source", error) &&
           have_run_time(error) && clang(link(so_path), "cannot link", error);
  }

private:
  bool find_clang(std::string &error) {
    for (const char *name : {"clang-19", "clang"}) {
      clang_ = name;
      if (run({clang_, "--version"}, log_)) return true;
    }
    error = "running kernels on the CPU needs clang: apt-get install clang-19";
    return false;
  }

  bool clang(const words &arguments, const char *what, std::string &error) const {
    words command = {clang_};
    if (arguments[0] != "-cc1") command.insert(command.end(), machine.begin(), machine.end());
    command.insert(command.end(), arguments.begin(), arguments.end());
    if (run(command, log_)) return true;
    error = std::string(what) + ":\n" + read(log_);
    return false;
  }

  bool fast() const { return flags_ & (MSL_BUILD_FAST | MSL_BUILD_SANITIZE); }

  // MSL's address spaces are those of C++ for OpenCL.
  words strict_parse(const std::string &metal, const std::string &language) const {
    return {"-cc1", "-x", "clcpp", "-cl-std=clc++2021", "-triple", "spir64-unknown-unknown",
            "-cl-ext=+cl_khr_fp16,-cl_khr_fp64,-__opencl_c_fp64,-__opencl_c_program_scope_global_variables,-__opencl_c_pipes,-__opencl_c_device_enqueue",
            "-I" + strict_, "-D__METAL_VERSION__=" + language, "-fsyntax-only", "-Wall", "-Wno-unknown-attributes", "-Wno-unused-function", metal};
  }

  // Convergent functions and no merged tails: threads at different places stay so.
  // Contraction as Metal's compiler has it: the source's pragma turns it off. Frame
  // pointers: call_path. The CPU's vectors would only make the hooks slower.
  words compile_kernels(const std::string &cpp, const std::string &language) const {
    words w = common(cpp, "kernels.o");
    w.insert(w.end(), {"-ffp-contract=on", "-D__METAL_VERSION__=" + language, "-Werror=unknown-pragmas", "-fno-math-errno", "-fconvergent-functions", "-mllvm", "-enable-tail-merge=0", "-DUNROLL=", "-DIN_FLIGHT=", "-DBOTH_IN_FLIGHT=",
                       "-Wno-unknown-attributes", "-Wno-unused-function", "-I" + exec_ + "/include"});
    if (flags_ & MSL_BUILD_SANITIZE) {
      w.insert(w.end(), {"-fsanitize=address,undefined", "-fno-sanitize=vptr,alignment", "-fno-sanitize-recover=all", "-g"});
    } else if (!fast()) {
      w.insert(w.end(), {"-fsanitize=kernel-address", "-fno-vectorize", "-fno-slp-vectorize"});
      // same-temp would leave out a store behind a load of the same address.
      for (const char *option : {"-asan-instrumentation-with-call-threshold=0", "-asan-stack=0", "-asan-globals=0", "-asan-opt-same-temp=0",
                                 "-asan-memory-access-callback-prefix=msl_",
                                 "-asan-mapping-scale=4", // hooks by size are for aligned accesses only
                                 "-asan-kernel-mem-intrinsic-prefix"}) {
        w.insert(w.end(), {"-mllvm", option});
      }
    }
    w.push_back(fast() ? "-DMSL_CHECKED=0" : "-DMSL_CHECKED=1");
    return w;
  }

  words common(const std::string &cpp, const char *object) const {
    return {"-x", "c++", "-std=c++14", "-c", cpp, "-o", work_ + "/" + object, "-O1", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
            "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls"};
  }

  // Another process may make the same object: it is renamed when it is complete.
  bool have_run_time(std::string &error) const {
    if (access(run_time_.c_str(), R_OK) == 0) return true;
    const std::string part = run_time_ + "." + work_.substr(work_.rfind('/') + 1);
    if (!clang(compile_run_time(part), "cannot compile the run time", error)) return false;
    if (rename(part.c_str(), run_time_.c_str()) == 0) return true;
    error = "cannot write " + run_time_;
    return false;
  }

  words compile_run_time(const std::string &object) const {
    words w = {"-r", "-nostdlib", "-o", object, "-x", "c++", "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
               "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"};
    for (const char *name : {"launch", "fiber", "memory", "check", "copies", "overlay", "touched"}) w.push_back(exec_ + "/runtime/" + name + ".cpp");
    return w;
  }

  words link(const std::string &so_path) const {
    return {"-shared", "-o", so_path, work_ + "/kernels.o", run_time_, "-lm", "-pthread"};
  }

  const std::string exec_, strict_, work_, run_time_, log_;
  const unsigned flags_;
  std::string clang_;
};
}

int msl_build(const char *source, const char *exec_dir, const char *strict_dir, const char *work_dir, const char *run_time, const char *so_path, unsigned flags,
              char *error, size_t error_size) {
  std::string message;
  if (builder(exec_dir, strict_dir, work_dir, run_time, flags).build(source, so_path, message)) return 1;
  if (error && error_size) snprintf(error, error_size, "%s", message.c_str());
  return 0;
}
