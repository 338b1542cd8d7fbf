package ir

// Kind is the formula that an op computes.
type Kind uint8

// The kinds. Shapes are those of one token; h runs over heads, i over selected experts.
const (
	Embed         Kind = iota // out = W[token]
	RMSNorm                   // out = in / sqrt(mean(in²)+eps) * W
	MatVec                    // out_b = W_b in_b
	Rope                      // rotates the last dims of each head by the position (interleaved pairs)
	StoreKV                   // cache[pos] = [lat | k_pe]
	Expand                    // out[j]_h = Wᵀ_h (keys) or W_h (values) lat_j for every cached row j
	Attention                 // softmax(scale (q_nope·k_j + q_pe·k_pe_j)) v_j with expanded keys and values
	LatentAttn                // the same on the latent cache: softmax(scale (q_abs·lat_j + q_pe·k_pe_j)) lat_j
	AttendSplit               // LatentAttn over splits of the cache: their results, maxima, denominators
	Combine                   // merges the splits exactly
	SwiGLU                    // out = silu(gate) * up
	Add                       // out = a + b
	Scores                    // softmax or sigmoid of the router's logits
	TopK                      // indices of the selected experts
	RouteWeights              // routing weights of the selected experts
	ExpertsMatVec             // out_i = W_{e_i} in_i
	WeightedSum               // out = Σ_i w_i in_i
	NormPartial               // ready = in * W, squares_g = Σ in² over the g-th Group elements
	NormApply                 // out = ready / sqrt(Σ squares / n + eps): with NormPartial, an RMSNorm
	SquaredReLU               // out = max(0, in)²
	GroupExperts              // starts, members: what all rows have selected, by expert; see plan.Grouping
	Convolve                  // out[c] = Σ_s W[c][s] u_s[c], u: the inputs of the session's last rows, in is the last one
	SiLU                      // out = in / (1 + exp(-in))
	L2Norm                    // out_h = in_h / sqrt(Σ in_h² + eps)
	SoftplusDecay             // out = exp(A_h softplus(in + bias)), A_h < 0: the factor on a row of the state
	BoundedDecay              // out = exp(bound sigmoid(A_h (in + bias))): the same
	Sigmoid                   // out = 1 / (1 + exp(-in))
	DeltaRule                 // S_h = diag(decay_h) S_h; S_h += k_h (β_h (v_h - S_hᵀ k_h))ᵀ; out_h = scale S_hᵀ q_h
	DeltaChunk                // seen, known, own, value, key, kept: products between the rows of a chunk; see plan.DeltaChunks
	DeltaFold                 // DeltaRule with the outputs of DeltaChunk; see plan.DeltaFold
	GatedNorm                 // out_h = in_h / sqrt(mean(in_h²)+eps) * W * sigmoid(gate_h)
	GateHeads                 // out_h = sigmoid(gate[h]) in_h
)

// kind has the other facts about a Kind.
type kind struct {
	name   string // in dumps
	letter byte   // in signatures of parts
	does   string // in the comment above a kernel
	arity
}

// arity is the number of inputs and outputs of a kind, and the least and largest number of weights.
type arity struct{ in, out, minW, maxW int }

var kinds = [...]kind{
	Embed:         {"embed", 'e', "reads the token's embedding row", arity{0, 1, 1, 1}},
	RMSNorm:       {"rms_norm", 'N', "normalises its input itself", arity{1, 1, 1, 1}},
	MatVec:        {"mat_vec", 'M', "multiplies", arity{1, 1, 1, 1}},
	Rope:          {"rope", 'R', "rotates by the position", arity{1, 1, 0, 0}},
	StoreKV:       {"store_kv", 'S', "writes the new latent cache row", arity{2, 1, 0, 0}},
	Expand:        {"expand", 'x', "makes keys or values of all heads of the latent cache rows that are attended to, which cost many queries less than the latent rows", arity{1, 1, 1, 1}},
	Attention:     {"attention", 'a', "attends with each head of some rows to its expanded keys and values", arity{5, 1, 0, 0}},
	LatentAttn:    {"latent_attention", 'l', "attends to the latent cache for all heads of some rows", arity{3, 1, 0, 0}},
	AttendSplit:   {"attend_split", 'L', "attends over one split of the latent cache for all heads", arity{3, 2, 0, 0}},
	Combine:       {"combine", 'C', "merges the attention splits", arity{2, 1, 0, 0}},
	SwiGLU:        {"swiglu", 'G', "applies SwiGLU in registers", arity{2, 1, 0, 0}},
	Add:           {"add", 'A', "adds the residual", arity{2, 1, 0, 0}},
	Scores:        {"scores", 'p', "scores the experts", arity{1, 1, 0, 0}},
	TopK:          {"top_k", 't', "selects them again in every threadgroup", arity{1, 1, 0, 1}},
	RouteWeights:  {"route_weights", 'w', "hands their weights on", arity{2, 1, 0, 0}},
	ExpertsMatVec: {"experts_mat_vec", 'E', "multiplies by the selected experts", arity{2, 1, 1, 1}},
	WeightedSum:   {"weighted_sum", 'W', "sums the experts with their weights", arity{2, 1, 0, 0}},
	NormPartial:   {"norm_partial", 'H', "makes the next norm's partial sums", arity{1, 2, 1, 1}},
	NormApply:     {"norm_apply", 'K', "finishes the norm of its input", arity{2, 1, 0, 0}},
	SquaredReLU:   {"squared_relu", 'Q', "squares what is positive", arity{1, 1, 0, 0}},
	GroupExperts:  {"group_experts", 'g', "lists by expert what all rows have selected", arity{1, 2, 0, 0}},
	Convolve:      {"convolve", 'c', "convolves over the last tokens of the session", arity{1, 1, 1, 1}},
	SiLU:          {"silu", 'u', "applies SiLU", arity{1, 1, 0, 0}},
	L2Norm:        {"l2_norm", 'n', "makes each head's vector one of length 1", arity{1, 1, 0, 0}},
	SoftplusDecay: {"softplus_decay", 'd', "makes the forget gate", arity{1, 1, 2, 2}},
	BoundedDecay:  {"bounded_decay", 'b', "makes the forget gate, which is bounded", arity{1, 1, 2, 2}},
	Sigmoid:       {"sigmoid", 's', "applies the logistic function", arity{1, 1, 0, 0}},
	DeltaRule:     {"delta_rule", 'D', "moves the state of the session on, and reads it", arity{5, 1, 0, 0}},
	DeltaChunk:    {"delta_chunk", 'k', "makes what the rows of a chunk are to each other", arity{5, 6, 0, 0}},
	DeltaFold:     {"delta_fold", 'f', "moves the state of the session on by chunks of rows, and reads it", arity{6, 1, 0, 0}},
	GatedNorm:     {"gated_norm", 'Z', "normalises each head, and applies the output gate", arity{2, 1, 1, 1}},
	GateHeads:     {"gate_heads", 'O', "multiplies each head by its gate", arity{2, 1, 0, 0}},
}

func (k Kind) String() string { return kinds[k].name }

// Does says what an op of this kind does, for the comment above a kernel.
func (k Kind) Does() string { return kinds[k].does }
