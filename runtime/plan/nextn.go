package plan

// The weights of Bundle.Joined, in order. The input of a row of an MTP layer is [rms(E[token]) * enorm;
// rms(h) * hnorm]. There h is the hidden state of the position before: the main model's after its last norm
// (JoinedModelNorm), or when the layer drafts on from its own draft, the layer's after its own norm
// (JoinedSharedNorm).
const (
	JoinedEmbedding  = iota // E, [VocabSize][hidden]
	JoinedENorm             // enorm
	JoinedHNorm             // hnorm
	JoinedModelNorm         // last norm of the main model
	JoinedSharedNorm        // last norm of the MTP layer
	JoinedCount
)
