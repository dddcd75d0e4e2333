#!/usr/bin/env python3
"""What predicts how much two jobs on one GPU slow each other?

Usage: bench/interference.py [FILE]. FILE: Gavel's measured throughputs (OSDI 2020), by default shared/data/gavel beside the project; ends with
77 where it is absent. 26 training jobs of seven types ran alone and beside each other on a K80, a P100 and a V100. Whole types are left
out of what a predictor learns from, one after another, and the pairs that they are in are predicted. Prints, by GPU, the median error of a job's
throughput beside its neighbour, and of the pairs in which a predictor lets neither be slowed more than 1.25 times: how many, and how many
of them are slowed more.

  none       neighbours do no harm
  turns      each gets half
  mean       the mean of the pairs learnt from
  busy       the sum of what both keep busy, as a job beside itself tells (the type left out was measured so)
  profile    log throughput = mean + sensitivity of the one + pressure of the other; of a type left out both are 0
  profile N  the same, with both measured beside N jobs of other types (as Mars et al. 2011, "Bubble-Up", MICRO, measure against a bubble)
"""
import ast
import gzip
import json
import math
import pathlib
import statistics
import sys

GPUS, HARMLESS = ("k80", "p100", "v100"), 1.25
TURNS_OF_FIT, SHRINK = 30, 0.3


def load(path, gpu):
    """@return {(job, neighbour): throughput of what it has alone}; pairs that do not fit into the memory are left out."""
    told = json.load(gzip.open(path))[gpu]
    jobs = {ast.literal_eval(key): value for key, value in told.items()}
    alone = {job: value["null"] for (job, gpus), value in jobs.items() if gpus == 1}
    out = {}
    for (job, gpus), value in jobs.items():
        for key, rates in value.items():
            if gpus == 1 and key != "null":
                neighbour, its_gpus = ast.literal_eval(key)
                if its_gpus == 1 and min(rates) > 0:
                    out[job, neighbour] = rates[0] / alone[job]
    return out


def type_of(job):
    return job.split(" (")[0]


class Profile:
    """Sensitivity and pressure by job, of the pairs of `known` jobs."""

    def __init__(self, pairs, known, probes):
        logs = {pair: math.log(min(max(t, 0.05), 1)) for pair, t in pairs.items()}
        inner = {pair: v for pair, v in logs.items() if set(pair) <= known}
        self.mean = statistics.mean(inner.values())
        self.sensitivity, self.pressure = {}, {}
        for _ in range(TURNS_OF_FIT):
            for job in sorted(known):
                self.sensitivity[job] = self.part([v - self.mean - self.pressure.get(b, 0) for (a, b), v in inner.items() if a == job], 1)
            for job in sorted(known):
                self.pressure[job] = self.part([v - self.mean - self.sensitivity[a] for (a, b), v in inner.items() if b == job], 1)
        # Beside jobs of as many types as there are, in turn.
        beside = sorted(known, key=lambda job: ([j for j in sorted(known) if type_of(j) == type_of(job)].index(job), type_of(job)))[:probes]
        for job in {job for job, _ in pairs} - known:
            self.sensitivity[job] = self.part([logs[job, b] - self.mean - self.pressure[b] for b in beside if (job, b) in logs], SHRINK)
            self.pressure[job] = self.part([logs[a, job] - self.mean - self.sensitivity[a] for a in beside if (a, job) in logs], SHRINK)

    @staticmethod
    def part(values, shrink):
        return sum(values) / (len(values) + shrink)

    def __call__(self, job, neighbour):
        return min(1, math.exp(self.mean + self.sensitivity[job] + self.pressure[neighbour]))


def spread_within_a_type(pairs):
    """@return median difference of what a job gets beside two neighbours of one type, percent: what no predictor by type can tell."""
    return 100 * statistics.median(abs(t - pairs[a, c]) / pairs[a, c] for (a, b), t in pairs.items() for (d, c) in pairs
                                   if a == d and b < c and type_of(b) == type_of(c))


def busy(pairs):
    own = {job: min(max(1 / (2 * pairs.get((job, job), 0.5)), 0.5), 1) for job, _ in pairs}
    return lambda job, neighbour: min(1, 1 / (own[job] + own[neighbour]))


def predictors(pairs, known):
    mean = statistics.mean(t for pair, t in pairs.items() if set(pair) <= known)
    return {"none": lambda *_: 1, "turns": lambda *_: 0.5, "mean": lambda *_: mean, "busy": busy(pairs), "profile": Profile(pairs, known, 0),
            "profile 1": Profile(pairs, known, 1), "profile 3": Profile(pairs, known, 3), "profile 7": Profile(pairs, known, 7)}


def evaluate(pairs):
    jobs = {job for job, _ in pairs}
    errors, advised, broken = {}, {}, {}
    for left_out in sorted({type_of(job) for job in jobs}):
        known = {job for job in jobs if type_of(job) != left_out}
        for name, predict in predictors(pairs, known).items():
            for (a, b), truth in pairs.items():
                if set((a, b)) <= known or (b, a) not in pairs:
                    continue
                errors.setdefault(name, []).append(abs(predict(a, b) - truth) / truth)
                if a <= b and min(predict(a, b), predict(b, a)) >= 1 / HARMLESS:
                    advised[name] = advised.get(name, 0) + 1
                    broken[name] = broken.get(name, 0) + (min(truth, pairs[b, a]) < 1 / HARMLESS)
    return {name: (100 * statistics.median(of), advised.get(name, 0), broken.get(name, 0)) for name, of in errors.items()}


def main():
    path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2] / "shared/data/gavel/simulation_throughputs.json.gz")
    if not path.exists():
        print(f"{path} is absent: it is not part of the project")
        sys.exit(77)
    by_gpu = {gpu: load(path, gpu) for gpu in GPUS}
    for gpu, pairs in by_gpu.items():
        slowed = sorted(1 / t for t in pairs.values())
        print(f"{gpu}: {len(slowed)} jobs beside another: slowed {statistics.median(slowed):.2f} times, 1 in 4 more than {slowed[len(slowed) * 3 // 4]:.2f}, "
              f"1 in 100 more than {slowed[len(slowed) * 99 // 100]:.2f}, one {slowed[-1]:.2f}; "
              f"neither more than {HARMLESS} in {sum(a <= b and min(t, pairs.get((b, a), 0)) >= 1 / HARMLESS for (a, b), t in pairs.items())} pairs; "
              f"beside neighbours of one type a job differs by {spread_within_a_type(pairs):.0f} %")
    results = {gpu: evaluate(pairs) for gpu, pairs in by_gpu.items()}
    print("\npredictor  " + "".join(f"{gpu + ': error %, advised, broken':>32}" for gpu in GPUS))
    for name in results["k80"]:
        print(f"{name:10} " + "".join(f"{results[gpu][name][0]:20.1f}{results[gpu][name][1]:6}{results[gpu][name][2]:6}" for gpu in GPUS))


main()
