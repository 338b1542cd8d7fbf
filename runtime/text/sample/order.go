package sample

import (
	"fmt"
	"slices"
	"strings"
)

// Step is a step of picking a token, between bias and draw.
type Step uint8

// Steps, in the order of llama.cpp's default chain.
const (
	StepPenalties Step = iota
	StepDRY
	StepTopNSigma
	StepTopK
	StepTypicalP
	StepTopP
	StepMinP
	StepXTC
	StepTemperature
)

// DefaultOrder is the default of Params.Order.
func DefaultOrder() []Step {
	return []Step{StepPenalties, StepDRY, StepTopNSigma, StepTopK, StepTypicalP, StepTopP, StepMinP, StepXTC, StepTemperature}
}

// maxSteps is the greatest length of an order. A step may occur twice.
const maxSteps = 64

// stepName is the names of a step.
type stepName struct {
	letter rune
	names  []string
}

// stepNames is llama.cpp's names of the steps, its preferred one first, and its letters.
var stepNames = [...]stepName{
	StepPenalties:   {'e', []string{"penalties"}},
	StepDRY:         {'d', []string{"dry"}},
	StepTopNSigma:   {'s', []string{"top_n_sigma", "top-n-sigma", "top-nsigma"}},
	StepTopK:        {'k', []string{"top_k", "top-k"}},
	StepTypicalP:    {'y', []string{"typ_p", "typical_p", "typical-p", "typical", "typ-p", "typ"}},
	StepTopP:        {'p', []string{"top_p", "top-p", "nucleus"}},
	StepMinP:        {'m', []string{"min_p", "min-p"}},
	StepXTC:         {'x', []string{"xtc"}},
	StepTemperature: {'t', []string{"temperature", "temp"}},
}

// absentNames and absentLetters are llama.cpp's steps that are not implemented and ignored. Clients list them
// along with steps that their parameters switch off.
var absentNames = []string{"infill", "adaptive_p", "adaptive-p"}

const absentLetters = "ia"

// String is llama.cpp's name of the step.
func (s Step) String() string {
	if int(s) >= len(stepNames) {
		return fmt.Sprintf("Step(%d)", uint8(s))
	}
	return stepNames[s].names[0]
}

// ParseOrder parses an order of steps by their names. An empty list has no step.
func ParseOrder(names []string) ([]Step, error) {
	order := []Step{}
	for _, name := range names {
		at := slices.IndexFunc(stepNames[:], func(s stepName) bool { return slices.Contains(s.names, name) })
		switch {
		case at >= 0:
			order = append(order, Step(at))
		case !slices.Contains(absentNames, name):
			return nil, fmt.Errorf("%.50q is no sampler; expected some of %s", name, strings.Join(StepNames(DefaultOrder()), ", "))
		}
		if len(order) > maxSteps {
			return nil, errManySteps
		}
	}
	return order, nil
}

var errManySteps = fmt.Errorf("more than %d samplers", maxSteps)

// ParseLetters parses an order of steps by llama.cpp's letters: edskypmxt is the default.
func ParseLetters(letters string) ([]Step, error) {
	order := []Step{}
	for _, letter := range letters {
		at := slices.IndexFunc(stepNames[:], func(s stepName) bool { return s.letter == letter })
		switch {
		case at >= 0:
			order = append(order, Step(at))
		case !strings.ContainsRune(absentLetters, letter):
			return nil, fmt.Errorf("%q is the letter of no sampler; expected some of %s", letter, Letters(DefaultOrder()))
		}
		if len(order) > maxSteps {
			return nil, errManySteps
		}
	}
	return order, nil
}

// ParseSequence parses an order of steps in llama.cpp's short form: letters, or names separated by
// semicolons.
func ParseSequence(text string) ([]Step, error) {
	if strings.Contains(text, ";") {
		return ParseOrder(strings.FieldsFunc(text, func(r rune) bool { return r == ';' }))
	}
	return ParseLetters(text)
}

// StepNames is the names of steps.
func StepNames(order []Step) []string {
	names := make([]string, len(order))
	for i, s := range order {
		names[i] = s.String()
	}
	return names
}

// Letters is the letters of steps.
func Letters(order []Step) string {
	var out strings.Builder
	for _, s := range order {
		out.WriteRune(stepNames[s].letter)
	}
	return out.String()
}
