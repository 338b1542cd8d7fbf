# Targets for people and for CI. `make help` lists them.

GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Packages that use goroutines; they are tested under the race detector too.
RACE = ./runtime/... ./cmd/mlarun/...

# Which mutations `make mutate` draws.
SEED ?= 1

.PHONY: help build test unit race msl sim mutate arm64 metallib test-metal generate ptx check fmt vet staticcheck cross bench tools clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

build: ## build bin/mlagen and bin/mlarun, with the PTX that `make ptx` left
	CGO_ENABLED=0 $(GO) build -o bin/ ./cmd/mlagen ./cmd/mlarun

test: tools unit race ## all tests; installs clang-19 and gcc on Debian, elsewhere names what is missing

unit: sim
	$(GO) test ./...

race: sim
	CGO_ENABLED=1 $(GO) test -race -short $(RACE)

msl: tools ## parse the Metal source of every bundle in the strict front end
	$(GO) test ./gen/msl/...

sim: tools ## build build/libmetalsim.so and build/libcudasim.so, which stand in for Metal and for NVIDIA's driver
	@mkdir -p build
	sh sim/metal/build.sh build/libmetalsim.so
	sh sim/cuda/build.sh build/libcudasim.so

arm64: tools ## the simulator and mlarun on it for linux/arm64, under an emulator (on x86-64; `make test` has it too)
	$(GO) test -count 1 -run Arm64 ./sim ./sim/metal/...

mutate: sim ## break plans, kernels and the Metal runtime, one mistake at a time; SEED=n draws others
	$(GO) run ./sim/mutate -seed $(SEED)

metallib: ## compile the kernels to bin/*.metallib; needs a Mac with Xcode
	@sh scripts/metallib.sh bin

test-metal: ## the Metal device on this Mac's GPU, then mlarun doctor
	@GO="$(GO)" sh scripts/test-metal.sh

generate: ## regenerate everything under generated/
	$(GO) generate ./...

ptx: tools ## compile the kernels for NVIDIA GPUs, for the next build; needs clang-19, not CUDA
	$(GO) run ./cmd/mlagen ptx -all

check: ## fail if anything under generated/ is out of date
	$(GO) run ./cmd/mlagen -all -check

fmt: ## fail if a Go file is not gofmt-clean
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-clean:"; echo "$$out"; exit 1; }

vet: ## go vet, for this machine and for darwin/arm64
	$(GO) vet ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet ./...

staticcheck: ## honnef.co/go/tools
	$(GO) run $(STATICCHECK) ./...

cross: ## everything compiles for Apple Silicon without cgo
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build ./...

bench: ## benchmarks of the inner loops
	$(GO) test -run '^$$' -bench . -benchtime 1s ./runtime/quant ./runtime/device/cpu

tools:
	@sh scripts/tools.sh

clean: ## remove what builds made
	rm -rf bin build
