package target

// Macs lists the memory sizes of Macs with Apple Silicon, in GiB.
var Macs = []int{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192, 256, 512}

// Working is the share of a Mac's memory that its GPU may use, for sizes up to UpTo.
type Working struct {
	UpTo  int // GiB of memory
	Share float64
	From  Source
}

var workings = []Working{
	{36, 2.0 / 3, Source{Reported, "M2 and M3 with 24 and 32 GB", "2026-11-28", "recommendedMaxWorkingSetSize of 17.18 and 22.9 GB"}},
	{512, 3.0 / 4, Source{Reported, "Macs with 64 GB and more", "2026-11-28", "recommendedMaxWorkingSetSize of three quarters"}},
}

// systemBytes is the memory that a raised iogpu.wired_limit_mb should leave to the system.
const systemBytes = 4 << 30

// LeastMac returns the smallest memory size of a Mac, in GiB, whose GPU may use a number of bytes: with the
// default limit, and with a raised one. 0: no Mac is large enough.
func LeastMac(bytes int64) (asItIs, withLimit int) {
	for i := len(Macs) - 1; i >= 0; i-- {
		size := int64(Macs[i]) << 30
		if float64(bytes) <= working(Macs[i])*float64(size) {
			asItIs = Macs[i]
		}
		if bytes <= size-systemBytes {
			withLimit = Macs[i]
		}
	}
	if asItIs > 0 {
		withLimit = min(withLimit, asItIs)
	}
	return asItIs, withLimit
}

// working returns the share of memory that the GPU may use, for a size in GiB.
func working(gib int) float64 {
	for _, w := range workings {
		if gib <= w.UpTo {
			return w.Share
		}
	}
	return 0
}
