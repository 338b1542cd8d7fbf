# Targets for people and for CI. `make help` lists them.

GO ?= go

# The programs have no cgo, so tests have none: a package is compiled once for both.
export CGO_ENABLED ?= 0

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0

# Packages that use goroutines. Their tests also run under the race detector; TestRace in gen checks
# that the list is complete. The packages of RACE_CALLED start no goroutines, but several goroutines
# call them: only their tests with names that end in AtOnce run. Of RACE_SOME only RACE_TESTS run:
# these have several goroutines at work in Go, while most other tests wait for a simulator in C++.
RACE = ./runtime/system/atomicfile ./runtime/serve/batch ./runtime/load/bind ./runtime/system/child ./runtime/serve/completion/... \
	./runtime/device/blas ./runtime/device/cpu ./runtime/device/cuda/... ./runtime/device/metal/mtl ./runtime/device/metal/trust ./runtime/engine \
	./runtime/serve/fleet ./runtime/gguf ./runtime/text/guided ./runtime/engine/nextn ./runtime/doctor/quality \
	./runtime/system/recordfile ./runtime/serve/scheduler ./runtime/serve/server/... ./cmd/mlarun/input
RACE_CALLED = ./runtime/device/linalg ./runtime/text/chat/jinja ./runtime/text/grammar
RACE_SOME = ./runtime/device/metal ./cmd/mlarun
RACE_TESTS = 'Archive|Batch|Compilation|Heartbeat|Idle|Interrupt|Lost|PacedFaults|Parallel|Rate|ServeModels|Simulator|Spared|Terminal'

# Which mutations `make mutate` draws.
SEED ?= 1

# How the programs are built; without release they have the bundles that only tests run, too.
TAGS ?= release

# Where `make install` puts the programs; DESTDIR goes before it.
PREFIX ?= /usr/local

# Which version an installed program says it is.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null | sed 's/^v//')
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null)
STAMP = -X mla/runtime/system/buildinfo.version=$(VERSION) -X mla/runtime/system/buildinfo.commit=$(COMMIT)

# How long each fuzz target runs.
FUZZTIME ?= 60s

.PHONY: help build install uninstall dist licenses verify fuzz test prove deep race plans msl sim mutate soak arm64 metallib test-metal generate ptx check fingerprints fmt vet staticcheck cross bench tools clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

build: ## build bin/mlagen and bin/mlarun, and put what `make ptx` made beside them; TAGS= adds the bundles of tests
	CGO_ENABLED=0 $(GO) build -tags "$(TAGS)" -ldflags "-s -w $(STAMP)" -o bin/ ./cmd/mlagen ./cmd/mlarun
	@rm -f bin/*.ptx.gz
	@find generated -name '*.ptx.gz' $(if $(filter release,$(TAGS)),-not -path '*/reference/*') -exec cp {} bin/ ';'

install: build ## install programs, manual pages and completions; PREFIX=/usr/local DESTDIR=
	@BIN=bin sh scripts/install.sh "$(DESTDIR)$(PREFIX)"

uninstall: ## remove what `make install` installed
	@BIN=bin sh scripts/install.sh -remove "$(DESTDIR)$(PREFIX)"

dist: ## release archives with checksums, SBOMs and a Homebrew cask in build/dist, in 10 minutes or so; publishes nothing
	@GO="$(GO)" sh scripts/dist.sh

licenses: ## fail if a dependency has a licence that is not known to be fine
	@GO="$(GO)" sh scripts/licenses.sh check

verify: ## fail if a downloaded dependency is not what go.sum says
	$(GO) mod verify

fuzz: ## run every fuzz target for FUZZTIME (60s; CI has 2,000 inputs each)
	@GO="$(GO)" sh scripts/fuzz.sh $(FUZZTIME)

test: ## tests of every package and one example of every proof; installs what they need on Debian, names it elsewhere
	@sh scripts/tools.sh test
	@$(TIMED) $(MAKE) --no-print-directory sim
	@$(TIMED) $(GO) run ./tools/tests

prove: ## all proofs: every test, the race detector, emulated arm64, Chromium, Caddy, mutations, fuzz targets; LONG=1 adds hours
	@sh scripts/tools.sh prove
	@$(TIMED) $(MAKE) --no-print-directory sim
	@$(TIMED) $(MAKE) --no-print-directory deep
	@$(TIMED) $(MAKE) --no-print-directory race
	@$(TIMED) sh scripts/fuzz.sh 2000x
	@test -z "$(LONG)" || $(TIMED) $(MAKE) --no-print-directory plans soak

TIMED = sh scripts/timed.sh

# How many plans of each of five bundles `make plans` tries on the CPU device.
PLANS ?= 20000

plans: sim ## hostile plans, the long form: 100,000 on the CPU device, some in the executor and the Metal simulator; hours
	$(GO) test ./runtime/device/cpu -count 1 -run TestHostilePlans -timeout 24h -plans $(PLANS)
	$(GO) test ./sim/replay -count 1 -run TestHostilePlans -timeout 24h -plans 50
	$(GO) test ./sim/metal/endtoend -count 1 -run TestHostilePlans -timeout 24h -plans 50

deep: sim ## every test without the race detector: the fast tier, then what the tag deep changes
	$(GO) run ./tools/tests -deep

race: sim ## the fast tier under the race detector, for packages that use goroutines
	CGO_ENABLED=1 $(GO) run ./tools/tests -race $(RACE)
	CGO_ENABLED=1 $(GO) run ./tools/tests -race -run 'AtOnce$$' $(RACE_CALLED)
	CGO_ENABLED=1 $(GO) run ./tools/tests -race -run $(RACE_TESTS) $(RACE_SOME)

msl: tools ## parse and run the Metal source of every bundle
	$(GO) test -tags deep ./gen/msl/...

sim: tools ## build build/libmetalsim.so and build/libcudasim.so, which stand in for Metal and for NVIDIA's driver
	@mkdir -p build
	sh sim/metal/build.sh build/libmetalsim.so
	sh sim/cuda/build.sh build/libcudasim.so

soak: ## 20,000 requests of clients that come, go, dawdle and lie, and a device that fails, and 20,000 to a real model: nothing may be left of them
	$(GO) test -tags deep ./runtime/serve/server -count 1 -run TestSoak -v -timeout 30m -soak 20000

arm64: tools ## the simulator and mlarun on it for linux/arm64, under an emulator (on x86-64; `make prove` has it too)
	$(GO) test -tags deep -count 1 -run Arm64 ./sim ./sim/metal/...

mutate: sim ## break plans, kernels and the Metal runtime, one mistake at a time; SEED=n draws others
	$(GO) run ./sim/mutate -seed $(SEED)

metallib: ## compile the kernels to bin/*.metallib; needs a Mac with Xcode
	@sh scripts/metallib.sh bin

test-metal: ## the Metal device on this Mac's GPU, then mlarun doctor
	@GO="$(GO)" sh scripts/test-metal.sh

generate: ## regenerate everything under generated/
	$(GO) generate ./...

ptx: tools ## compile the kernels for NVIDIA GPUs, which `make build` puts beside mlarun; needs clang-19, not CUDA
	$(GO) run ./cmd/mlagen ptx -all

check: ## fail if anything under generated/ is out of date
	$(GO) run ./cmd/mlagen -all -check

fingerprints: tools ## plans, kernels and PTX of all bundles against specs/fingerprints.txt; compiles PTX that make ptx has not left
	$(GO) test ./gen/fingerprint -count 1 -timeout 4h -ptx

fmt: ## fail if a Go file is not gofmt-clean
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "not gofmt-clean:"; echo "$$out"; exit 1; }

vet: ## go vet, for this machine and for darwin/arm64; there without clients that take minutes to compile
	$(GO) vet -tags deep ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) vet -tags noclients ./...

staticcheck: ## honnef.co/go/tools, in both tiers of tests
	$(GO) run $(STATICCHECK) ./...
	$(GO) run $(STATICCHECK) -tags deep ./...

cross: ## everything compiles for Apple Silicon without cgo
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build ./...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build ./...

bench: ## benchmarks of the inner loops
	$(GO) test -run '^$$' -bench . -benchtime 1s ./runtime/device/linalg ./runtime/device/cpu

tools:
	@sh scripts/tools.sh prove

clean: ## remove what builds made
	rm -rf bin build
