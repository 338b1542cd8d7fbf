package verify

import (
	"fmt"

	"mla/runtime/plan"
)

// role is the requirements on a slot with a role, and the role's name in errors.
type role struct {
	name  string
	holds func(s *plan.Slot) bool
}

var roles = [plan.Roles]role{
	plan.RoleWeight:     {"a typed weight", func(s *plan.Slot) bool { return s.Elem == plan.ElemTyped && s.Space == plan.SpaceWeight }},
	plan.RoleNormWeight: {"a norm's weight", floats},
	plan.RoleBias:       {"a bias", floats},
	plan.RoleScores:     {"router logits", floats},
	plan.RoleSquares:    {"sums of squares", floats},
	plan.RoleAngles:     {"the rotary table", func(s *plan.Slot) bool { return floats(s) && s.Space == plan.SpaceRope }},
	plan.RoleVector:     {"activations", numbers},
	plan.RoleSplitOut:   {"results of splits", numbers},
	plan.RoleSplitML:    {"maxima and sums of splits", floats},
	plan.RoleCache:      {"a cache", func(s *plan.Slot) bool { return s.Elem == plan.ElemTyped && s.Space == plan.SpaceKV }},
	plan.RoleHeads:      {"expanded heads", func(s *plan.Slot) bool { return s.Space == plan.SpaceHeads }},
	plan.RoleTables:     {"block tables", func(s *plan.Slot) bool { return integers(s) && s.Space == plan.SpaceTables }},
	plan.RoleRouting:    {"routing", func(s *plan.Slot) bool { return s.Elem == plan.ElemRoute }},
	plan.RoleStarts:     {"the starts of groups", integers},
	plan.RoleMembers:    {"the members of groups", integers},
	plan.RoleGathered:   {"vectors to gather", func(s *plan.Slot) bool { return numbers(s) && s.Space == plan.SpaceArena }},
	plan.RoleCounters:   {"counters", func(s *plan.Slot) bool { return s.Elem == plan.ElemCounter && s.Space == plan.SpaceCounters }},
	plan.RoleFloats:     {"float32", floats},
	plan.RoleIntegers:   {"integers", integers},
	plan.RolePicks:      {"picks", func(s *plan.Slot) bool { return s.Elem == plan.ElemPick }},
	plan.RoleAdjusts:    {"adjustments of logits", func(s *plan.Slot) bool { return s.Elem == plan.ElemAdjust }},
	plan.RoleRow:        {"the row", func(s *plan.Slot) bool { return s.Elem == plan.ElemRow }},
	plan.RoleState:      {"states", func(s *plan.Slot) bool { return floats(s) && s.Space == plan.SpaceState }},
	plan.RoleTable:      {"a parameter", func(s *plan.Slot) bool { return floats(s) && s.Space == plan.SpaceWeight }},
	plan.RoleGates:      {"gates", floats},
	plan.RoleUnit:       {"vectors of length 1", floats},
	plan.RoleShare:      {"numbers from 0 to 1", floats},
}

func floats(s *plan.Slot) bool   { return s.Elem == plan.ElemF32 }
func integers(s *plan.Slot) bool { return s.Elem == plan.ElemU32 }
func numbers(s *plan.Slot) bool {
	return s.Elem == plan.ElemF32 || s.Elem == plan.ElemF16 || s.Elem == plan.ElemAct
}

// checkUse says what is wrong with a use of a slot of kernel k.
func checkUse(k *plan.Kernel, u *plan.Use) error {
	if u.Slot < 0 || u.Slot >= len(k.Slots) {
		return fmt.Errorf("slot %d of %d", u.Slot, len(k.Slots))
	}
	s, r := &k.Slots[u.Slot], &roles[u.As]
	if !r.holds(s) || u.Write && !s.Write {
		return fmt.Errorf("slot %s (space %d, element %d, write %t) cannot serve as %s, written %t", s.Name, s.Space, s.Elem, s.Write, r.name, u.Write)
	}
	return nil
}
