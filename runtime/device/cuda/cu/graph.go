package cu

import (
	"runtime"
	"unsafe"
)

// Graph is a graph of work with dependencies, from which an Exec is instantiated.
type Graph struct{ handle handle }

// Node is a node of a graph.
type Node struct{ handle handle }

// Launch is one launch of a kernel whose parameters are all addresses.
type Launch struct {
	Kernel          Kernel
	Groups, Threads int // blocks, and threads per block
	Params          []Ptr
}

// kernelParams is CUDA_KERNEL_NODE_PARAMS_v2.
type kernelParams struct {
	function               handle
	gridX, gridY, gridZ    uint32
	blockX, blockY, blockZ uint32
	dynamicShared          uint32
	params                 unsafe.Pointer // [n]*Ptr
	extra                  unsafe.Pointer
	kernel, context        handle // kernel instead of function; 0: the current context
}

// edge is CUgraphEdgeData.
type edge struct {
	fromPort, toPort, kind uint8
	_                      [5]uint8
}

// early is an edge for programmatic dependent launch: the second kernel may begin once all blocks of the
// first have executed griddepcontrol.launch_dependents. Its griddepcontrol.wait waits for the end of the
// first kernel.
var early = edge{fromPort: 1, kind: 1} // CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, …_DEPENDENCY_TYPE_PROGRAMMATIC

// NewGraph returns an empty graph.
func NewGraph() (g Graph, err error) {
	err = check("cuGraphCreate", api.graphCreate(&g.handle, 0))
	return g, err
}

// Add adds a kernel that runs after the given nodes. The parameters are copied.
func (g Graph) Add(l *Launch, after []Node) (n Node, err error) {
	// The driver follows pointers that the garbage collector does not see.
	var pins runtime.Pinner
	defer pins.Unpin()
	params := make([]unsafe.Pointer, len(l.Params)+1)
	for i := range l.Params {
		params[i] = unsafe.Pointer(&l.Params[i])
	}
	if len(l.Params) > 0 {
		pins.Pin(&l.Params[0])
	}
	pins.Pin(&params[0])
	p := &kernelParams{
		function: l.Kernel.handle,
		gridX:    uint32(l.Groups), gridY: 1, gridZ: 1,
		blockX: uint32(l.Threads), blockY: 1, blockZ: 1,
		dynamicShared: l.Kernel.dynamic,
		params:        unsafe.Pointer(&params[0]),
	}
	pins.Pin(p)
	var first nodeList
	if len(after) > 0 {
		first = nodeList(&after[0].handle)
	}
	err = check("cuGraphAddKernelNode_v2", api.addKernel(&n.handle, g.handle, first, uint64(len(after)), unsafe.Pointer(p)))
	return n, err
}

// Early adds an edge from before to node for programmatic dependent launch (see early). The kernel of node
// must execute griddepcontrol.wait before it touches memory that another kernel writes, and before it writes.
func (g Graph) Early(before, node Node) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	from, to, e := &before.handle, &node.handle, &early
	pins.Pin(from)
	pins.Pin(to)
	return check("cuGraphAddDependencies_v2", api.addEdges(g.handle, from, to, unsafe.Pointer(e), 1))
}

// Destroy frees the graph. Executable graphs made from it stay valid.
func (g Graph) Destroy() error {
	if g.handle == 0 {
		return nil
	}
	return check("cuGraphDestroy", api.graphDestroy(g.handle))
}

// Exec is an executable graph.
type Exec struct{ handle handle }

// Instantiate makes an executable graph.
func (g Graph) Instantiate() (e Exec, err error) {
	err = check("cuGraphInstantiateWithFlags", api.instantiate(&e.handle, g.handle, 0))
	return e, err
}

// Launch appends one run of the graph to a stream.
func (e Exec) Launch(s Stream) error { return check("cuGraphLaunch", api.launch(e.handle, s.handle)) }

// Destroy frees the executable graph.
func (e Exec) Destroy() error {
	if e.handle == 0 {
		return nil
	}
	return check("cuGraphExecDestroy", api.execDestroy(e.handle))
}
