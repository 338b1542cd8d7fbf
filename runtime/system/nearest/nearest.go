// Package nearest finds the name that a user probably meant.
package nearest

import "strings"

const (
	longest  = 64 // longest name that is corrected, in bytes; it bounds the cost of the distance
	shortest = 3  // shortest beginning of a name that counts, in bytes
)

// Of returns the first candidate that begins with name, else the candidate with the fewest typing mistakes;
// "": all have too many.
func Of(name string, candidates []string) string {
	if len(name) > longest {
		return ""
	}
	name = strings.ToLower(name)
	for _, c := range candidates {
		if len(name) >= shortest && strings.HasPrefix(c, name) {
			return c
		}
	}
	best, fewest := "", 1+max(1, len(name)/3)
	for _, c := range candidates {
		if d := mistakes(name, c); d < fewest {
			best, fewest = c, d
		}
	}
	return best
}

// mistakes is the optimal string alignment distance in bytes: missing, superfluous, wrong and swapped
// letters.
func mistakes(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
