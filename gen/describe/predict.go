package describe

// Prediction is the time model's answer for one device; nothing in it was
// measured by this project.
type Prediction struct {
	Device        string  `json:"device"`
	BandwidthGBs  float64 `json:"bandwidth_gb_s"`
	WeightsUs     float64 `json:"weights_us"`
	CacheUs       float64 `json:"cache_us"`
	DispatchesUs  float64 `json:"dispatches_us"`
	CommandBufUs  float64 `json:"command_buffer_us"`
	TokPerSecond  float64 `json:"predicted_tok_s"`
	CeilingTokSec float64 `json:"ceiling_tok_s"` // bytes over data-sheet bandwidth alone
}

// device is one line of the time model
// t = W/(η·BW) + KV/(η·BW) + N·c + 20 µs.
type device struct {
	name     string
	gbs      float64 // data-sheet memory bandwidth, GB/s
	launchUs float64 // cost of one dependent dispatch inside an ICB, µs
}

// devices are the Apple GPUs that predictions are printed for. Bandwidths are
// Apple's; launch costs are what others reported (1.3 µs on an M3 Pro up to
// 2.75 µs on an Ultra).
var devices = []device{
	{"M2, M3", 100, 1.3},
	{"M3 Pro", 150, 1.3},
	{"M4 Pro", 273, 1.6},
	{"M4 Max", 546, 2.0},
	{"M5 Max", 614, 2.0},
	{"M3 Ultra", 819, 2.75},
}

const (
	// efficiency is the part of data-sheet bandwidth that quantised mat-vecs
	// typically reach (60–70 % reported; pure reads reach about 90 %).
	efficiency      = 0.65
	commandBufferUs = 20
)

func predict(r *Report) []Prediction {
	var list []Prediction
	kv := float64(r.KVBytesPerContextToken) * float64(r.Depth+1)
	for _, d := range devices {
		perUs := d.gbs * 1e3 // bytes per µs
		p := Prediction{Device: d.name, BandwidthGBs: d.gbs,
			WeightsUs:    float64(r.WeightBytesPerToken) / (efficiency * perUs),
			CacheUs:      kv / (efficiency * perUs),
			DispatchesUs: float64(r.BarriersPerToken) * d.launchUs, CommandBufUs: commandBufferUs}
		p.TokPerSecond = 1e6 / (p.WeightsUs + p.CacheUs + p.DispatchesUs + p.CommandBufUs)
		p.CeilingTokSec = 1e6 * perUs / (float64(r.WeightBytesPerToken) + kv)
		list = append(list, p)
	}
	return list
}
