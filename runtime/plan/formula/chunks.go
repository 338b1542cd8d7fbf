package formula

// DeltaRow is the inputs of the delta rule from one row, for one head.
type DeltaRow[X Number] struct {
	Q, K, V, Keep []X
	Beta          float64
}

// DeltaChunkRow is the inputs of DeltaFold from one row of a chunk, with the names of plan.DeltaChunks.
type DeltaChunkRow struct{ Seen, Known, Own, Value, Key, Kept []float64 }

// Vectors lists the vectors in the order of their names.
func (r *DeltaChunkRow) Vectors() []*[]float64 {
	return []*[]float64{&r.Seen, &r.Known, &r.Own, &r.Value, &r.Key, &r.Kept}
}

// DeltaChunk computes the terms of a chunk of rows of one head (the UT transform, arXiv 2406.06484); see
// plan.DeltaChunks.
func DeltaChunk[X Number](rows []DeltaRow[X], scale float64) []DeltaChunkRow {
	out := make([]DeltaChunkRow, len(rows))
	for t := range rows {
		row, o := &rows[t], &out[t]
		n := len(row.K)
		o.Kept, o.Known, o.Seen = make([]float64, n), make([]float64, n), make([]float64, n)
		o.Value, o.Own, o.Key = scaled(row.V, row.Beta), make([]float64, n), scaled(row.K, 1)
		for i, keep := range row.Keep {
			o.Kept[i] = float64(keep)
			if t > 0 {
				o.Kept[i] *= out[t-1].Kept[i]
			}
			o.Known[i] = row.Beta * float64(row.K[i]) * o.Kept[i]
			o.Seen[i] = scale * float64(row.Q[i]) * o.Kept[i]
			for r := range t {
				out[r].Key[i] *= float64(keep) // with the decay up to row t
			}
		}
		for r := range t {
			known := row.Beta * Dot(row.K, out[r].Key)
			AddTo(o.Known, out[r].Known, -known)
			AddTo(o.Value, out[r].Value, -known)
		}
		for r := range t + 1 {
			seen := scale * Dot(row.Q, out[r].Key)
			AddTo(o.Seen, out[r].Known, -seen)
			AddTo(o.Own, out[r].Value, seen)
		}
	}
	return out
}

// DeltaFold updates the state of one head, [key][value], by a chunk of rows, and returns the result of each
// row.
func DeltaFold(state []float64, rows []DeltaChunkRow) [][]float64 {
	n := len(rows[0].Kept)
	var told, answers [][]float64
	for _, r := range rows {
		u, o := scaled(r.Value, 1), scaled(r.Own, 1)
		for i := range n {
			AddTo(u, state[i*n:][:n], -r.Known[i])
			AddTo(o, state[i*n:][:n], r.Seen[i])
		}
		told, answers = append(told, u), append(answers, o)
	}
	last := rows[len(rows)-1].Kept
	for i := range n {
		row := state[i*n:][:n]
		for j := range row {
			row[j] *= last[i]
		}
		for t, u := range told {
			AddTo(row, u, rows[t].Key[i])
		}
	}
	return answers
}

// scaled returns by·x.
func scaled[X Number](x []X, by float64) []float64 {
	y := make([]float64, len(x))
	AddTo(y, x, by)
	return y
}
