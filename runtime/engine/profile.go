package engine

import "mla/runtime/device"

// Profiler is what measures the device's dispatches, where the device can. To
// measure overwrites the caches: the timeline is empty from here on.
func (s *Session) Profiler() (p device.Profiler, ok bool) {
	p, ok = s.runner.(device.Profiler)
	if ok {
		s.rewind(0)
	}
	return p, ok
}

// DevicePicks tells whether the device can pick tokens itself and run ahead.
func (s *Session) DevicePicks() bool {
	_, ok := s.runner.(device.Sampler)
	return ok
}
