# The two commands a newcomer needs are `make demo` and `make test`; everything else is for working on Stint.
JOBS ?= $(shell nproc)
# Many tests wait: for a real Slurm, for a daemon, for time to go by.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
STORY ?= agency
HISTORY ?= demo/$(STORY).db

.PHONY: demo demo-serve test build deb image setup lint tidy fuzz bench clean

demo: build  ## make a fleet, audit it, plan it: report.html, demo/plan.html
	@mkdir -p demo
	@rm -f $(HISTORY) $(HISTORY)-wal $(HISTORY)-shm
	build/release/stint demo $(STORY) --history $(HISTORY)
	build/release/stint audit --history $(HISTORY) --month 2026-10 --goals examples/$(STORY).goals --html report.html || [ $$? = 3 ]  # 3: a goal fails
	build/release/stint plan all --history $(HISTORY) --month 2026-10 --goals examples/$(STORY).goals --html demo/plan.html || [ $$? = 3 ]  # 3: a goal fails
	@echo "Open report.html and demo/plan.html in a browser."

demo-serve: build  ## train a model, make it INT8, tune it to a promise, serve it, load it: a minute
	scripts/demo-serve build/release/stint "$$(scripts/setup-onnxruntime)" demo/serve

test: setup  ## every test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(TEST_JOBS)

build: setup  ## the optimised binary, build/release/stint
	cmake --preset release -DSTINT_TESTS=OFF -DSTINT_BENCH=OFF
	cmake --build --preset release -j $(JOBS) --target stint

deb: build  ## a Debian package, build/stint_VERSION_ARCH.deb
	packaging/build-deb build/release/stint build

image: build  ## a container image, build/stint_VERSION_ARCH.oci.tar
	packaging/build-image "$$(packaging/build-deb build/release/stint build)" build

setup:  ## what is missing, from Debian's packages
	scripts/setup

lint:  ## formatting, as CI checks it
	scripts/lint

tidy: setup  ## clang-tidy on every file (slow)
	cmake --preset tidy
	cmake --build --preset tidy -j $(JOBS)

fuzz: setup  ## every fuzz target for FUZZ_SECONDS seconds each
	scripts/fuzz $(or $(FUZZ_SECONDS),20)

bench: setup  ## benchmarks, build/release/bench/*
	cmake --preset release -DSTINT_TESTS=OFF -DSTINT_BENCH=ON
	cmake --build --preset release -j $(JOBS)

clean:
	rm -rf build demo report.html
