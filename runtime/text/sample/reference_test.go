package sample

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"mla/runtime/text/tokenizer"
)

// The reference of the steps: llama.cpp's semantics, in float64, on sorted lists, with the
// functions of package math. It shares nothing with the sampler but its parameters.

// candidate is a token with its logit.
type candidate struct {
	id int32
	x  float64
}

// likeliest sorts candidates, the lower id first among equals.
func likeliest(list []candidate) []candidate {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.x, a.x), cmp.Compare(a.id, b.id)) })
	return list
}

func softmax(list []candidate) []float64 {
	top, sum, p := math.Inf(-1), 0., make([]float64, len(list))
	for _, c := range list {
		top = max(top, c.x)
	}
	for i, c := range list {
		p[i] = math.Exp(c.x - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func entropyOf(p []float64) (h float64) {
	for _, x := range p {
		if x > 0 {
			h -= x * math.Log(x)
		}
	}
	return h
}

// referenceStep does one step. xtc says what chance decides.
func referenceStep(step Step, p *Params, list []candidate, text []int32, xtc bool) []candidate {
	keep := max(p.MinKeep, 1)
	sorted := likeliest(list)
	probs := softmax(sorted)
	out := slices.Clone(list)
	switch step {
	case StepPenalties:
		recent := text
		if n := p.RepeatLastN; n >= 0 {
			recent = text[max(0, len(text)-n):]
		}
		for i, c := range out {
			n := 0
			for _, id := range recent {
				if id == c.id {
					n++
				}
			}
			if n == 0 {
				continue
			}
			if c.x <= 0 {
				out[i].x *= float64(p.RepeatPenalty)
			} else {
				out[i].x /= float64(p.RepeatPenalty)
			}
			out[i].x -= float64(n)*float64(p.FrequencyPenalty) + float64(p.PresencePenalty)
		}
		return out
	case StepDRY:
		return referenceDRY(p, out, text)
	case StepTopNSigma:
		if p.TopNSigma <= 0 || len(list) < 2 {
			return list
		}
		n, mean, square := 0., 0., 0.
		for _, c := range list {
			if !math.IsInf(c.x, -1) {
				n++
				mean += c.x
			}
		}
		mean /= n
		for _, c := range list {
			if !math.IsInf(c.x, -1) {
				square += (c.x - mean) * (c.x - mean)
			}
		}
		for i, c := range out {
			if c.x < sorted[0].x-float64(p.TopNSigma)*math.Sqrt(square/n) {
				out[i].x = math.Inf(-1)
			}
		}
		return out
	case StepTopK:
		if p.TopK == 0 {
			return list
		}
		return sorted[:min(p.TopK, len(sorted))]
	case StepTopP:
		if p.TopP == 1 {
			return list
		}
		sum := 0.
		for i, x := range probs {
			if sum += x; sum >= float64(p.TopP) && i+1 >= keep {
				return sorted[:i+1]
			}
		}
		return sorted
	case StepMinP:
		if p.MinP == 0 {
			return list
		}
		n := 0
		for n < len(sorted) && (n < keep || sorted[n].x-sorted[0].x >= math.Log(float64(p.MinP))) {
			n++
		}
		return sorted[:n]
	case StepTypicalP:
		if p.TypicalP == 0 || p.TypicalP == 1 {
			return list
		}
		h, index := entropyOf(probs), make([]int, len(sorted))
		for i := range index {
			index[i] = i
		}
		slices.SortStableFunc(index, func(a, b int) int {
			return cmp.Or(cmp.Compare(math.Abs(-math.Log(probs[a])-h), math.Abs(-math.Log(probs[b])-h)), cmp.Compare(sorted[a].id, sorted[b].id))
		})
		out, sum := []candidate{}, 0.
		for i, at := range index {
			out = append(out, sorted[at])
			if sum += probs[at]; sum > float64(p.TypicalP) && i+1 >= keep {
				break
			}
		}
		return out
	case StepXTC:
		if !xtc || p.XTCProbability == 0 || p.XTCThreshold > 0.5 || len(list) < 2 {
			return list
		}
		last := 0
		for i, x := range probs {
			if x >= float64(p.XTCThreshold) && !math.IsInf(sorted[i].x, -1) {
				last = i
			}
		}
		if last == 0 || len(sorted)-last < p.MinKeep {
			return list
		}
		return sorted[last:]
	}
	t := float64(p.Temperature)
	if r := float64(p.DynatempRange); r > 0 {
		if len(list) < 2 {
			return list
		}
		low := max(0, t-r)
		t = low + (t+r-low)*math.Pow(max(0, entropyOf(probs))/math.Log(float64(len(list))), float64(p.DynatempExponent))
	}
	if t < minTemperature {
		return sorted[:1]
	}
	for i := range out {
		out[i].x /= t
	}
	return out
}

// referenceDRY looks for every repetition token by token.
func referenceDRY(p *Params, list []candidate, text []int32) []candidate {
	if p.DRYLastN >= 0 {
		text = text[max(0, len(text)-p.DRYLastN):]
	}
	spell := func(id int32) string { return string(p.Vocabulary.TokenBytes(id)) }
	// breaks is how many tokens a breaker has that begins at a place; 0: there is none.
	breaks := func(text []int32) (longest int) {
		for _, b := range p.DRYBreakers {
			word := spell(text[0])
			if strings.Contains(word, b) {
				longest = max(longest, 1)
				continue
			}
			for n := 1; n < len(b); n++ {
				if strings.HasSuffix(word, b[:n]) {
					tail := p.Vocabulary.Encode(b[n:], tokenizer.EncodeOptions{})
					if len(tail) < len(text) && slices.Equal(tail, text[1:1+len(tail)]) {
						longest = max(longest, 1+len(tail))
					}
				}
			}
		}
		return longest
	}
	limit := len(text)
	for at := len(text) - 1; at >= 0; at-- {
		if n := breaks(text[at:]); n > 0 {
			limit = len(text) - at - n
			break
		}
	}
	if len(text) <= p.DRYAllowedLength || limit < p.DRYAllowedLength {
		return list
	}
	for i, c := range list {
		longest := -1
		for at := 1; at < len(text); at++ { // the candidate came there, after n tokens like the last ones
			n := 0
			for n < at && text[at-1-n] == text[len(text)-1-n] {
				n++
			}
			if text[at] == c.id {
				longest = max(longest, min(n, limit))
			}
		}
		if longest >= p.DRYAllowedLength && breaks([]int32{c.id}) == 0 {
			list[i].x -= float64(p.DRYMultiplier) * min(math.Pow(float64(p.DRYBase), float64(longest-p.DRYAllowedLength)), math.MaxFloat32)
		}
	}
	return list
}

// referenceMirostat is which tokens mirostat leaves.
func referenceMirostat(p *Params, list []candidate, mu float64) []candidate {
	sorted := likeliest(list)
	probs := softmax(sorted)
	if p.Mirostat == 2 {
		n := 0
		for n < len(sorted) && -math.Log2(probs[n]) <= mu {
			n++
		}
		return sorted[:max(n, 1)]
	}
	tb, tt := 0., 0.
	for i := 0; i < 99 && i+1 < len(sorted) && probs[i+1] > 0; i++ {
		t := math.Log(float64(i+2) / float64(i+1))
		tb += t * math.Log(probs[i]/probs[i+1])
		tt += t * t
	}
	s := tb / tt
	k := math.Pow((s-1)*math.Pow(2, mu)/(1-math.Pow(float64(len(list)), 1-s)), 1/s)
	return sorted[:min(max(int(min(k, 1e9)), 1), len(sorted))]
}

// letters is a vocabulary of tokens that have a letter or two.
type letters int

func (letters) TokenBytes(id int32) []byte {
	if id < 26 {
		return []byte{'a' + byte(id)}
	}
	return []byte{'a' + byte(id%26), 'a' + byte(id/26%26)}
}

func (letters) TokenText(int32) string { return "" }

func (letters) Encode(text string, _ tokenizer.EncodeOptions) (ids []int32) {
	for _, c := range text {
		ids = append(ids, c-'a')
	}
	return ids
}
