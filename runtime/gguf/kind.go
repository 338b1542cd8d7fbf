package gguf

import "fmt"

// Kind is the type of a metadata value; the numbers are those of the file.
type Kind uint32

// The kinds of metadata values.
const (
	KindUint8 Kind = iota
	KindInt8
	KindUint16
	KindInt16
	KindUint32
	KindInt32
	KindFloat32
	KindBool
	KindString
	KindArray
	KindUint64
	KindInt64
	KindFloat64
)

// class groups the kinds that convert to the same Go type.
type class int

const (
	classUnsigned class = iota
	classSigned
	classFloat
	classBool
	classString
	classArray
)

// kinds is indexed by Kind. size is the bytes of a value; for strings and arrays it is the least: that of
// their length fields.
var kinds = [...]struct {
	name  string
	class class
	size  int
}{
	KindUint8:   {"uint8", classUnsigned, 1},
	KindInt8:    {"int8", classSigned, 1},
	KindUint16:  {"uint16", classUnsigned, 2},
	KindInt16:   {"int16", classSigned, 2},
	KindUint32:  {"uint32", classUnsigned, 4},
	KindInt32:   {"int32", classSigned, 4},
	KindFloat32: {"float32", classFloat, 4},
	KindBool:    {"bool", classBool, 1},
	KindString:  {"string", classString, 8},
	KindArray:   {"array", classArray, 12},
	KindUint64:  {"uint64", classUnsigned, 8},
	KindInt64:   {"int64", classSigned, 8},
	KindFloat64: {"float64", classFloat, 8},
}

func (k Kind) valid() bool { return uint64(k) < uint64(len(kinds)) }

// String returns the name of the kind, such as "uint32".
func (k Kind) String() string {
	if !k.valid() {
		return fmt.Sprintf("Kind(%d)", uint32(k))
	}
	return kinds[k].name
}
