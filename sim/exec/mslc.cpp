// mslc [-fast] [-sanitize] [-strict DIR] [-runtime FILE] EXEC_DIR WORK_DIR IN.metal OUT.so:
// msl_build as a command. Messages go to stderr.
#include <stdio.h>
#include <string.h>
#include <fstream>
#include <sstream>
#include "build.h"

int main(int argc, char **argv) {
  unsigned flags = 0;
  const char *strict = nullptr, *run_time = nullptr;
  int i = 1;
  for (; i < argc && argv[i][0] == '-'; ++i) {
    if (!strcmp(argv[i], "-fast")) flags |= MSL_BUILD_FAST;
    else if (!strcmp(argv[i], "-sanitize")) flags |= MSL_BUILD_SANITIZE;
    else if (!strcmp(argv[i], "-strict") && i + 1 < argc) strict = argv[++i];
    else if (!strcmp(argv[i], "-runtime") && i + 1 < argc) run_time = argv[++i];
    else break;
  }
  if (argc - i != 4) {
    fprintf(stderr, "usage: mslc [-fast] [-sanitize] [-strict DIR] [-runtime FILE] EXEC_DIR WORK_DIR IN.metal OUT.so\n");
    return 2;
  }
  std::ifstream in(argv[i + 2]);
  std::ostringstream source;
  source << in.rdbuf();
  if (!in) {
    fprintf(stderr, "%s: cannot be read\n", argv[i + 2]);
    return 1;
  }
  static char error[1 << 16];
  if (msl_build(source.str().c_str(), argv[i], strict, argv[i + 1], run_time, argv[i + 3], flags, error, sizeof error)) return 0;
  fprintf(stderr, "%s\n", error);
  return 1;
}
