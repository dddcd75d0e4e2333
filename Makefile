# The two commands a newcomer needs are `make demo` and `make test`; everything else is for working on Stint.
JOBS ?= $(shell nproc)
STORY ?= agency
HISTORY ?= demo/$(STORY).db

.PHONY: demo test build setup lint tidy fuzz bench clean

demo: build  ## make a fleet, audit it, write report.html
	@mkdir -p demo
	@rm -f $(HISTORY) $(HISTORY)-wal $(HISTORY)-shm
	build/release/stint demo $(STORY) --history $(HISTORY)
	build/release/stint audit --history $(HISTORY) --month 2026-10 --html report.html
	@echo "Open report.html in a browser."

test: setup  ## every test
	cmake --preset dev
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev -j $(JOBS)

build: setup  ## the optimised binary, build/release/stint
	cmake --preset release -DSTINT_TESTS=OFF -DSTINT_BENCH=OFF
	cmake --build --preset release -j $(JOBS) --target stint

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
