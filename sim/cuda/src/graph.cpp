#include "graph.h"

#include "stream.h"

namespace cudasim {
namespace {

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelParams {
  CUhandle function;
  uint32_t grid[3], block[3];
  uint32_t dynamicShared;
  void **params, **extra;
  CUhandle kernel, context;
};

Launch launchOf(const KernelParams &p) {
  REQUIRE(!p.extra && !p.kernel && !p.context && !p.dynamicShared, Rule::BadValue, "node parameters that the stand-in does not know");
  const auto *f = get<Function>(p.function);
  REQUIRE(p.grid[0] > 0 && p.grid[0] < 1u << 31 && p.grid[1] == 1 && p.grid[2] == 1, Rule::Launch, "%s: a grid of %u×%u×%u",
          f->entry.c_str(), p.grid[0], p.grid[1], p.grid[2]);
  REQUIRE(p.block[0] > 0 && p.block[0] <= f->kernel->max_threads && p.block[1] == 1 && p.block[2] == 1, Rule::Launch,
          "%s: a block of %u×%u×%u; the kernel takes %u", f->entry.c_str(), p.block[0], p.block[1], p.block[2], f->kernel->max_threads);
  REQUIRE(p.params, Rule::BadPointer, "%s: no parameters", f->entry.c_str());
  Launch l{f, p.grid[0], p.block[0], {}};
  for (uint32_t i = 0; i < f->params; i++) {
    REQUIRE(p.params[i], Rule::BadPointer, "%s, parameter %u", f->entry.c_str(), i);
    l.params.push_back(*static_cast<const CUdeviceptr *>(p.params[i]));
  }
  return l;
}

}  // namespace
}  // namespace cudasim

using namespace cudasim;

EXPORT CUresult cuGraphCreate(CUhandle *out, unsigned flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  *out = born(new Graph);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphDestroy(CUhandle h) {
  ENTER(Context);
  auto *g = get<Graph>(h);
  for (Node *n : g->nodes) destroy(n);
  destroy(g);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphAddKernelNode_v2(CUhandle *out, CUhandle graph, const CUhandle *after, uint64_t count, const KernelParams *params) {
  ENTER(Context);
  REQUIRE(out && params && (after || !count), Rule::BadPointer, "%s", __func__);
  auto *g = get<Graph>(graph);
  auto n = std::make_unique<Node>();
  n->owned = false;  // it goes with its graph
  n->graph = g;
  n->index = g->nodes.size();
  n->launch = launchOf(*params);
  for (uint64_t i = 0; i < count; i++) {
    const auto *other = get<Node>(after[i]);
    REQUIRE(other->graph == g, Rule::BadHandle, "%s: %s is in another graph", __func__, other->name().c_str());
    n->after.push_back(other->index);
  }
  g->nodes.push_back(n.get());
  *out = born(n.release());
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphInstantiateWithFlags(CUhandle *out, CUhandle graph, uint64_t flags) {
  ENTER(Context);
  REQUIRE(out, Rule::BadPointer, "%s", __func__);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  auto *e = new Executable;
  for (const Node *n : get<Graph>(graph)->nodes) {
    e->launches.push_back(n->launch);
    e->after.push_back(n->after);
    std::vector<bool> before(n->index);
    for (const size_t a : n->after) {
      before[a] = true;
      for (size_t i = 0; i < e->before[a].size(); i++) before[i] = before[i] || e->before[a][i];
    }
    e->before.push_back(std::move(before));
  }
  *out = born(e);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUhandle h) {
  ENTER(Context);
  auto *e = get<Executable>(h);
  requireIdle(e, __func__);
  destroy(e);
  return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUhandle h, CUhandle stream) {
  ENTER(Context);
  const auto *e = get<Executable>(h);
  auto *s = get<Stream>(stream);
  Work w{[e] { e->run(); }, {}, {e}};
  for (const Launch &l : e->launches) {
    REQUIRE(find(l.function->handle) == l.function, Rule::BadHandle, "%s: its kernel's module is unloaded", __func__);
    w.objects.push_back(l.function);
    for (const CUdeviceptr p : l.params) {
      const memory::Block *b = memory::device(p, 1, l.function->entry.c_str());
      w.ranges.push_back({b->base, b->base + b->bytes});
    }
  }
  s->add(std::move(w));
  return CUDA_SUCCESS;
}
