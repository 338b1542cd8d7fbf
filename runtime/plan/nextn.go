package plan

// What Bundle.Joined holds, in this order. The input of a row of a layer that predicts is
// [rms(E[token]) * enorm; rms(h) * hnorm], where h is the hidden state of the position
// before, after the last norm of the model; of a draft, after the layer's own norm.
const (
	JoinedEmbedding  = iota // E
	JoinedENorm             // of the embedding
	JoinedHNorm             // of the hidden state
	JoinedModelNorm         // after which the model's hidden states are taken
	JoinedSharedNorm        // after which the layer's own are
	JoinedCount
)
