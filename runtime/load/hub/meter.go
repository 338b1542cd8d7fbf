package hub

import (
	"fmt"
	"time"
)

// Meter measures the rate of a download. Bytes of earlier attempts do not count.
type Meter struct {
	start   time.Time
	at      time.Time
	loaded  int64 // since start
	last    int64 // done at the last call
	started bool
}

// Add reports how many bytes of the model have been downloaded by now.
func (m *Meter) Add(now time.Time, done int64) {
	if !m.started {
		m.start, m.last, m.started = now, done, true
	}
	m.loaded += max(done-m.last, 0)
	m.last, m.at = done, now
}

// Text is the rate and the remaining time for total bytes; "" before the rate is known.
func (m *Meter) Text(total int64) string {
	took := m.at.Sub(m.start).Seconds()
	if took <= 0 || m.loaded == 0 {
		return ""
	}
	rate := float64(m.loaded) / took
	left := time.Duration(float64(total-m.last) / rate * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%.1f MB/s, %v left", rate/1e6, left)
}
