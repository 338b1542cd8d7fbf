// Package recordfile is files of equal records after a header, written in one step and
// checksummed: what takes long to compute and can be computed again. A file that was cut
// off, changed, or written by another version is refused with the reason, and nothing of
// it is used.
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
// The checksum of a record goes on from that of the header and the record's number, so a
// record of another file, or of another place, does not pass.
package recordfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// Kind is what a file holds.
type Kind struct {
	Magic   [8]byte
	Version uint32
	Name    string // for messages, with an article: "a prompt cache"
	Record  int    // bytes of a record, if a reader knows that; 0: it does not
	Each    int    // bytes that the header may have for each record, beside those that all headers may have
}

// mostHeader is how long a header may be in a file of a given number of records: reading it must not cost more than what it
// belongs to. Records that are not as long as they should be are not counted.
func (k *Kind) mostHeader(records, record uint64) uint64 {
	const least = 4 << 20
	if k.Record > 0 && record != uint64(k.Record) {
		return least
	}
	return min(least+min(records, maxHeader)*uint64(k.Each), maxHeader)
}

// NotOursError says that a file was not written as this kind. It must not be replaced.
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
	// maxHeader bounds what a reader allocates before it has seen a checksum.
	maxHeader = 1 << 28
	// maxRecord keeps record sizes in range of an int anywhere.
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sizes are the numbers in front of the header.
type sizes struct {
	version     uint32
	header      int
	records     int
	recordBytes int
}

// encode is the fixed part of a file, with the kind's magic.
func (s sizes) encode(k Kind) []byte {
	b := append(make([]byte, 0, fixedBytes), k.Magic[:]...)
	b = binary.LittleEndian.AppendUint32(b, s.version)
	b = binary.LittleEndian.AppendUint32(b, uint32(s.header))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.records))
	return binary.LittleEndian.AppendUint64(b, uint64(s.recordBytes))
}

// decode reads the fixed part of a file of a given number of bytes. The reason is "" if the file
// is exactly as long as it has to be.
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

// at is where a record begins.
func (s sizes) at(i int) int64 {
	return fixedBytes + int64(s.header) + sumBytes + int64(i)*int64(s.recordBytes+sumBytes)
}

// sum is the checksum of a record.
func sum(header uint32, i int, record []byte) uint32 {
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], uint64(i))
	return crc32.Update(crc32.Update(header, castagnoli, number[:]), castagnoli, record)
}
