package gguf

import (
	"encoding/binary"
	"math"
)

func scalar(kind Kind, u uint64) Value {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], u)
	return Value{kind: kind, raw: buf[:kinds[kind].size:kinds[kind].size]}
}

// Uint8 returns a metadata value for a Writer; so do the functions below.
func Uint8(x uint8) Value { return scalar(KindUint8, uint64(x)) }

// Int8 makes an int8 value.
func Int8(x int8) Value { return scalar(KindInt8, uint64(x)) }

// Uint16 makes a uint16 value.
func Uint16(x uint16) Value { return scalar(KindUint16, uint64(x)) }

// Int16 makes an int16 value.
func Int16(x int16) Value { return scalar(KindInt16, uint64(x)) }

// Uint32 makes a uint32 value.
func Uint32(x uint32) Value { return scalar(KindUint32, uint64(x)) }

// Int32 makes an int32 value.
func Int32(x int32) Value { return scalar(KindInt32, uint64(x)) }

// Uint64 makes a uint64 value.
func Uint64(x uint64) Value { return scalar(KindUint64, x) }

// Int64 makes an int64 value.
func Int64(x int64) Value { return scalar(KindInt64, uint64(x)) }

// Float32 makes a float32 value.
func Float32(x float32) Value { return scalar(KindFloat32, uint64(math.Float32bits(x))) }

// Float64 makes a float64 value.
func Float64(x float64) Value { return scalar(KindFloat64, math.Float64bits(x)) }

// Bool makes a bool value.
func Bool(x bool) Value {
	if x {
		return scalar(KindBool, 1)
	}
	return scalar(KindBool, 0)
}

// String makes a string value.
func String(s string) Value { return Value{kind: KindString, raw: []byte(s)} }

// Strings makes an array of strings.
func Strings(list []string) Value {
	var raw []byte
	for _, s := range list {
		raw = appendString(raw, s)
	}
	return Value{kind: KindArray, elem: KindString, n: len(list), raw: raw}
}

// Uint32s makes an array of uint32.
func Uint32s(list []uint32) Value {
	return array32(KindUint32, list, func(x uint32) uint32 { return x })
}

// Int32s makes an array of int32.
func Int32s(list []int32) Value {
	return array32(KindInt32, list, func(x int32) uint32 { return uint32(x) })
}

// Float32s makes an array of float32.
func Float32s(list []float32) Value { return array32(KindFloat32, list, math.Float32bits) }

func array32[T any](kind Kind, list []T, enc func(T) uint32) Value {
	raw := make([]byte, 0, 4*len(list))
	for _, x := range list {
		raw = binary.LittleEndian.AppendUint32(raw, enc(x))
	}
	return Value{kind: KindArray, elem: kind, n: len(list), raw: raw}
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// appendValue encodes a value as in a file: its kind, lengths, then raw bytes.
func appendValue(b []byte, v Value) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(v.kind))
	switch v.kind {
	case KindString:
		b = binary.LittleEndian.AppendUint64(b, uint64(len(v.raw)))
	case KindArray:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.elem))
		b = binary.LittleEndian.AppendUint64(b, uint64(v.n))
	}
	return append(b, v.raw...)
}
