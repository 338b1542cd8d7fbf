package plan

// Spaces is how many spaces there are.
const Spaces = SpaceState + 1

var spaceNames = [Spaces]string{
	SpaceWeight: "weights", SpaceArena: "arena", SpaceKV: "KV cache", SpaceRope: "rotary table", SpaceRow: "rows", SpaceTables: "block tables",
	SpaceLogits: "logits", SpaceArgs: "constants", SpaceCounters: "counters", SpaceWanted: "wanted rows", SpacePick: "picks",
	SpaceHeads: "expanded heads", SpaceState: "states of linear attention",
}

// String is the name of a space in messages.
func (s Space) String() string {
	if s >= Spaces {
		return "unknown space"
	}
	return spaceNames[s]
}
