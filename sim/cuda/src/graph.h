// Graphs of kernel launches.
#pragma once

#include <memory>
#include <vector>

#include "module.h"

namespace cudasim {

struct Launch {
  const Function *function;
  uint32_t grid, block;  // one dimension
  std::vector<CUdeviceptr> params;
};

struct Graph : Named<Graph> {
  static constexpr const char *name_of_kind = "graph";
  std::vector<struct Node *> nodes;
};

struct Node : Named<Node> {
  static constexpr const char *name_of_kind = "graph node";
  Graph *graph;
  size_t index;  // in the graph
  Launch launch;
  std::vector<size_t> after;
};

// A graph that can be launched: a copy of its nodes.
struct Executable : Named<Executable> {
  static constexpr const char *name_of_kind = "executable graph";
  std::vector<Launch> launches;
  std::vector<std::vector<size_t>> after;
  std::vector<std::vector<bool>> before;  // [i][j]: j is before i, on some path

  void run() const;  // in a random order that keeps to the dependencies
};

}  // namespace cudasim
