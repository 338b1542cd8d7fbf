package plan

// What Bundle.Joined holds, in this order. The input of a row of a layer that predicts is
// [rms(E[token]) * enorm; rms(h) * hnorm], where h is the hidden state of the position
// before, behind the last norm of the model; of a draft, behind the layer's own norm.
const (
	JoinedEmbedding  = iota // E
	JoinedENorm             // of the embedding
	JoinedHNorm             // of the hidden state
	JoinedModelNorm         // behind which the model's hidden states are taken
	JoinedSharedNorm        // behind which the layer's own are
	JoinedCount
)
