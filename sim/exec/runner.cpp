// runner [-fast|-sanitize] [-small] EXEC_DIR IN.metal: compiles a source and launches its kernels for
// another process, so that a crash ends only this one. Requests come on stdin, a line each; see
// execute.go for the other side.
//   list                                     kernels, then "ok"
//   compiled                                 the names of those that were not there before, then "ok"
//   map ID FILE PAD SIZE                     maps SIZE bytes from PAD on; "ok"
//   run NAME GROUPS THREADS SEED FLAGS N     followed by N lines ID OFFSET SIZE, one
//                                            per buffer index; ID -1: none
// run answers "touched ID OFFSET BYTES STORE" lines if FLAGS has report_touched, then
// "ok" or "fault RULE TEXT".
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#include "build.h"
#include "library.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

namespace {
constexpr uint32_t report_touched = 1u << 31;

struct buffer {
  char *data;
  uint64_t size;
};
std::map<int, buffer> buffers;

struct binding {
  int id;
  uint64_t offset, size;
};

struct answer {
  bool fault = false;
};

[[noreturn]] void protocol_error(const char *what) {
  fprintf(stderr, "runner: %s\n", what);
  exit(3);
}

// Maps a file between inaccessible pages. The data ends close to the last of them.
buffer map_file(const char *path, uint64_t pad, uint64_t size) {
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE)), whole = (pad + size + page - 1) / page * page;
  char *at = static_cast<char *>(mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const int fd = open(path, O_RDWR);
  if (at == MAP_FAILED || fd < 0) protocol_error("cannot open a buffer");
  if (mmap(at + page, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) protocol_error("cannot map a buffer");
  close(fd);
  return buffer{at + page + pad, size};
}

void on_fault(void *context, const char *rule, const char *text) {
  static_cast<answer *>(context)->fault = true;
  printf("fault %s %s\n", rule, text);
}

void on_touched(void *, const void *at, uint64_t bytes, int store) {
  const char *p = static_cast<const char *>(at);
  for (const auto &[id, b] : buffers) {
    if (p >= b.data && p < b.data + b.size) printf("touched %d %" PRIu64 " %" PRIu64 " %d\n", id, uint64_t(p - b.data), bytes, store);
  }
}

// Under AddressSanitizer each binding is a heap block of its own, whose ends it
// watches. Bindings that are the same stay the same; ones that only overlap cannot.
class heap_copies {
public:
  explicit heap_copies(const std::vector<binding> &list) : list_(list) {}

  void *at(size_t i) {
    const binding &b = list_[i];
    char *original = buffers[b.id].data + b.offset;
    for (size_t j = 0; j < list_.size(); ++j) {
      const binding &o = list_[j];
      if (o.id != b.id || o.offset >= b.offset + b.size || b.offset >= o.offset + o.size) continue;
      if (o.offset != b.offset || o.size != b.size) return original;
      if (j < i) return copies_[j] ? copies_[j] : original;
      break;
    }
    char *copy = static_cast<char *>(malloc(b.size));
    memcpy(copy, original, b.size);
    return copies_[i] = copy;
  }

  void write_back() {
    for (const auto &[i, copy] : copies_) {
      if (!copy) continue;
      memcpy(buffers[list_[i].id].data + list_[i].offset, copy, list_[i].size);
      free(copy);
    }
  }

private:
  const std::vector<binding> &list_;
  std::map<size_t, char *> copies_;
};

void launch(const msl_kernel *k, msl_launch l, const std::vector<binding> &list, bool report) {
  answer a;
  heap_copies copies(list);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].id < 0) continue;
    const auto b = buffers.find(list[i].id);
    if (b == buffers.end() || list[i].offset > b->second.size || list[i].size > b->second.size - list[i].offset) protocol_error("no such buffer");
    l.buffers[i] = SANITIZED ? copies.at(i) : b->second.data + list[i].offset;
    l.sizes[i] = list[i].size;
  }
  l.fault = on_fault;
  l.touched = report ? on_touched : nullptr;
  l.context = &a;
  k->run(&l);
  copies.write_back();
  if (!a.fault) puts("ok");
}

void run(const msl_kernel *kernels, uint32_t count) {
  char name[256];
  msl_launch l = {};
  uint32_t groups, threads, n;
  if (scanf("%255s %u %u %" SCNu64 " %u %u", name, &groups, &threads, &l.seed, &l.flags, &n) != 6 || n > MSL_MAX_BUFFERS) protocol_error("bad run");
  std::vector<binding> list(n);
  for (binding &b : list) {
    if (scanf("%d %" SCNu64 " %" SCNu64, &b.id, &b.offset, &b.size) != 3) protocol_error("bad binding");
  }
  const bool report = l.flags & report_touched;
  l.flags &= ~report_touched;
  for (int i = 0; i < 3; ++i) l.groups[i] = l.threads[i] = 1;
  l.groups[0] = groups;
  l.threads[0] = threads;
  for (uint32_t i = 0; i < count; ++i) {
    if (!strcmp(kernels[i].name, name)) return launch(&kernels[i], l, list, report);
  }
  printf("fault launch no kernel %s\n", name);
}

// A guard page was touched, or a null pointer: nothing can be rescued.
void on_crash(int, siginfo_t *info, void *) {
  char text[80];
  const int n = snprintf(text, sizeof text, "fault out-of-bounds access to the inaccessible address %p\n", info->si_addr);
  if (write(1, text, size_t(n)) != n) _exit(5);
  _exit(4);
}
}

namespace {
msl::KernelTable compile(int argc, char **argv) {
  unsigned flags = 0;
  for (int i = 1; i < argc - 2; ++i) {
    const std::string option = argv[i];
    flags |= option == "-fast" ? msl::buildFast : option == "-sanitize" ? msl::buildSanitize : option == "-small" ? msl::buildSmall : ~0u;
  }
  if (argc < 3 || flags == ~0u) protocol_error("usage: runner [-fast|-sanitize] [-small] EXEC_DIR IN.metal");
  std::ostringstream source;
  const std::ifstream in(argv[argc - 1]);
  source << in.rdbuf();
  std::string error;
  const msl::KernelTable t = msl::compile(source.str(), {argv[argc - 2], ""}, flags, error);
  if (!t.first) protocol_error(("compiling the Metal source: " + error).c_str());
  return t;
}
}

int main(int argc, char **argv) {
  const msl::KernelTable table = compile(argc, argv);
  const msl_kernel *kernels = table.first;
  const uint32_t count = table.count;
  if (!SANITIZED) {
    static char stack[64 << 10];
    const stack_t alternate = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    struct sigaction action = {};
    action.sa_sigaction = on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    if (sigaltstack(&alternate, nullptr) || sigaction(SIGSEGV, &action, nullptr) || sigaction(SIGBUS, &action, nullptr)) protocol_error("no signal handler");
  }
  char word[16];
  while (scanf("%15s", word) == 1) {
    if (!strcmp(word, "list")) {
      for (uint32_t i = 0; i < count; ++i) {
        const msl_kernel &k = kernels[i];
        printf("%s %u %u %u %u %u %u\n", k.name, k.buffers, k.constants, k.writable, k.threadgroup_bytes, k.max_threads, k.checked);
      }
      puts("ok");
    } else if (!strcmp(word, "compiled")) {
      for (const std::string &name : table.compiled) puts(name.c_str());
      puts("ok");
    } else if (!strcmp(word, "map")) {
      int id;
      char path[4096];
      uint64_t pad, size;
      if (scanf("%d %4095s %" SCNu64 " %" SCNu64, &id, path, &pad, &size) != 4) protocol_error("bad map");
      buffers[id] = map_file(path, pad, size);
      puts("ok");
    } else if (!strcmp(word, "run")) {
      run(kernels, count);
    } else {
      protocol_error("unknown request");
    }
    fflush(stdout);
  }
}
