module mla

go 1.26.0

require (
	github.com/anthropics/anthropic-sdk-go v1.84.0 // a client of the server, in tests only
	github.com/aymanbagabas/go-udiff v0.4.1 // mlagen -diff
	github.com/chromedp/cdproto v0.159.0 // with chromedp
	github.com/chromedp/chromedp v0.23.0 // a browser for the server's page, in tests only
	github.com/creack/pty v1.1.24 // terminals, in tests only
	github.com/dave/jennifer v1.7.1 // prints generated Go code
	github.com/dlclark/regexp2 v1.12.0 // an oracle for pre-tokenisers, in tests only
	github.com/ebitengine/purego v0.11.3 // calls Metal and NVIDIA's driver without cgo
	github.com/google/jsonschema-go v0.4.3 // the JSON Schema test suite, which its module has; in tests only
	github.com/mattn/go-runewidth v0.0.31 // columns of characters, as liner counts them
	github.com/mmcloughlin/avo v0.5.0 // writes the assembly of the CPU's inner loops; not in the programs
	github.com/nats-io/nats-server/v2 v2.15.2 // a broker for batches, in tests only
	github.com/nats-io/nats.go v1.55.0 // batches of requests
	github.com/openai/openai-go/v3 v3.96.0 // a client of the server, in tests only
	github.com/peterh/liner v1.2.3 // edits the lines of a chat
	github.com/prometheus/client_golang v1.25.0 // the server's metrics
	github.com/prometheus/client_model v0.6.3 // merges the metrics of workers
	github.com/prometheus/common v0.72.0 // reads them
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // holds specs to their schema, in tests only
	github.com/spf13/cobra v1.10.2 // mlagen's command line: help per command, completions
	github.com/spf13/pflag v1.0.9 // cobra's flags
	github.com/tdewolff/parse/v2 v2.8.20 // parses the server's page, in tests only
	go.opentelemetry.io/otel v1.47.0 // the server's spans
	go.opentelemetry.io/otel/sdk v1.47.0 // makes and sends the spans
	github.com/sashabaranov/go-openai v1.43.0 // a client of the server, in tests only
	go.opentelemetry.io/otel/trace v1.47.0 // of anthropic-sdk-go, in tests
	golang.org/x/sys v0.49.0 // mmap, memory and CPU features of the system
	golang.org/x/term v0.47.0 // the terminal of chats
	gopkg.in/yaml.v3 v3.0.1 // specs, with line and column of every value
)

require (
	github.com/antithesishq/antithesis-sdk-go v0.8.0-default-no-op // indirect; of nats-server, in tests
	github.com/bahlo/generic-list-go v0.2.0 // indirect; of anthropic-sdk-go, in tests
	github.com/beorn7/perks v1.0.1 // indirect; of client_golang
	github.com/buger/jsonparser v1.1.2 // indirect; of anthropic-sdk-go, in tests
	github.com/cespare/xxhash/v2 v2.3.0 // indirect; of client_golang
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect; of go-runewidth
	github.com/coder/websocket v1.8.15 // indirect; of openai-go, in tests
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect; of chromedp, in tests
	github.com/go-logr/logr v1.4.4 // indirect; of otel
	github.com/go-logr/stdr v1.2.2 // indirect; of anthropic-sdk-go, in tests
	github.com/google/go-tpm v0.9.8 // indirect; of nats-server, in tests
	github.com/google/uuid v1.6.0 // indirect; of otel/sdk
	github.com/inconshreveable/mousetrap v1.1.0 // indirect; of cobra
	github.com/invopop/jsonschema v0.14.0 // indirect; of anthropic-sdk-go, in tests
	github.com/klauspost/compress v1.20.3 // indirect; of nats.go
	github.com/minio/highwayhash v1.0.4 // indirect; of nats-server, in tests
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect; of client_golang
	github.com/nats-io/jwt/v2 v2.8.2 // indirect; of nats-server, in tests
	github.com/nats-io/nkeys v0.4.16 // indirect; of nats.go
	github.com/nats-io/nuid v1.0.1 // indirect; of nats.go
	github.com/pb33f/ordered-map/v2 v2.3.1 // indirect; of anthropic-sdk-go, in tests
	github.com/prometheus/procfs v0.22.0 // indirect; of client_golang
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1 // indirect; of anthropic-sdk-go, in tests
	github.com/tidwall/gjson v1.20.0 // indirect; of anthropic-sdk-go, in tests
	github.com/tidwall/match v1.1.1 // indirect; of anthropic-sdk-go, in tests
	github.com/tidwall/pretty v1.2.1 // indirect; of anthropic-sdk-go, in tests
	github.com/tidwall/sjson v1.2.5 // indirect; of anthropic-sdk-go, in tests
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect; of anthropic-sdk-go, in tests
	go.opentelemetry.io/otel/log v1.47.0 // indirect; of otel
	go.opentelemetry.io/otel/metric v1.47.0 // indirect; of anthropic-sdk-go, in tests
	go.yaml.in/yaml/v4 v4.0.0-rc.2 // indirect; of anthropic-sdk-go, in tests
	golang.org/x/crypto v0.58.0 // indirect; of nats-server, in tests
	golang.org/x/mod v0.41.0 // indirect; of avo
	golang.org/x/net v0.62.0 // indirect; of anthropic-sdk-go, in tests
	golang.org/x/sync v0.24.0 // indirect; of avo
	golang.org/x/text v0.43.0 // indirect; of jsonschema, in tests
	golang.org/x/time v0.16.0 // indirect; of nats-server, in tests
	golang.org/x/tools v0.51.0 // indirect; of avo
	google.golang.org/protobuf v1.36.12 // indirect; of client_golang
)

