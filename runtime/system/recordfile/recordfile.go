// Package recordfile has files of records of equal size after a header. They are written atomically and have
// checksums. They hold results that take long to compute, but can be computed again: so a file that was cut
// off, changed, or written by another version is refused as a whole, with the reason.
//
// All numbers are little-endian, a checksum is a CRC-32C:
//
//	magic           8 bytes, of a Kind
//	version         uint32, of the Kind
//	header bytes    uint32
//	records         uint64
//	record bytes    uint64
//	header          JSON
//	checksum        of all before
//	records times:  record, checksum
//
// The checksum of a record continues that of the header and the record's number, so that a record of another
// file or place is detected.
package recordfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// Kind is a kind of file.
type Kind struct {
	Magic   [8]byte
	Version uint32
	Name    string // for messages, with an article: "a prompt cache"
	Record  int    // bytes of a record, if known to the reader; 0: unknown
	Each    int    // bytes that the header may have for each record, in addition to a constant
}

// mostHeader is the greatest length of a header in a file with a number of records, so that reading the
// header does not cost more than the records. Records of a wrong size do not count.
func (k *Kind) mostHeader(records, record uint64) uint64 {
	const least = 4 << 20
	if k.Record > 0 && record != uint64(k.Record) {
		return least
	}
	return min(least+min(records, maxHeader)*uint64(k.Each), maxHeader)
}

// NotOursError says that a file is not of this kind. It must not be replaced.
type NotOursError struct{ Path, Kind string }

func (e *NotOursError) Error() string {
	return fmt.Sprintf("%s is not %s; it is left as it is", e.Path, e.Kind)
}

// DamagedError says that a file of this kind cannot be used.
type DamagedError struct{ Path, Reason string }

func (e *DamagedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

const (
	fixedBytes = 8 + 4 + 4 + 8 + 8
	sumBytes   = 4
	// maxHeader bounds a reader's allocation before it has verified a checksum.
	maxHeader = 1 << 28
	// maxRecord keeps the size of a record within an int on every system.
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sizes is the numbers before the header.
type sizes struct {
	version     uint32
	header      int
	records     int
	recordBytes int
}

// encode returns the fixed part of a file, with the kind's magic.
func (s sizes) encode(k Kind) []byte {
	b := append(make([]byte, 0, fixedBytes), k.Magic[:]...)
	b = binary.LittleEndian.AppendUint32(b, s.version)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.header))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.records))
	return binary.LittleEndian.AppendUint64(b, uint64(s.recordBytes))
}

// decode parses the fixed part of a file with size bytes. reason is "" if the file has exactly the right
// length.
func decode(b []byte, k Kind, size int64) (s sizes, reason string) {
	version, header := binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	records, record := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	switch {
	case version != k.Version:
		return s, fmt.Sprintf("it is of version %d; this program reads version %d", version, k.Version)
	case uint64(header) > k.mostHeader(records, record) || record > maxRecord:
		return s, fmt.Sprintf("a header of %d bytes, and %d records of %d", header, records, record)
	}
	high, body := bits.Mul64(records, record+sumBytes)
	want := fixedBytes + uint64(header) + sumBytes + body
	switch {
	case high != 0 || body > math.MaxInt64/2 || want > uint64(size):
		return s, fmt.Sprintf("it is cut off: %d bytes are there, for a header of %d and %d records of %d", size, header, records, record)
	case want < uint64(size):
		return s, fmt.Sprintf("%d bytes follow its end", uint64(size)-want)
	}
	return sizes{version, int(header), int(records), int(record)}, ""
}

// at is the offset of a record.
func (s sizes) at(i int) int64 {
	return fixedBytes + int64(s.header) + sumBytes + int64(i)*int64(s.recordBytes+sumBytes)
}

// sum is the checksum of a record.
func sum(header uint32, i int, record []byte) uint32 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(i))
	return crc32.Update(crc32.Update(header, castagnoli, number[:]), castagnoli, record)
}
