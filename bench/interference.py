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
  factors N  the same N measured, and two more factors of each job: sensitivities and pressures of several kinds (alternating least squares; what
             Delimitrou and Kozyrakis 2013, "Paragon", ASPLOS, do with a matrix that is known in part)

A pair that was measured is not predicted: it counts in no figure of its predictor.

Then: pairs of which "factors N" says that together they get more than by turns, each with a separate bound. The bound is the prediction, less a margin of
the pairs of the known jobs, when each of their types was left out in turn:
  99.5 %     what held for so many of those pairs
  3 sigma    three standard deviations below the mean of the types' worst pairs, in logarithms: a type that was not seen is one more draw of types

Then: throughput of a job on another type of GPU, by its throughput on this one.
  roofline   the ratio of the data sheets, in the middle between memory bandwidth and arithmetic
  others     the median ratio of the jobs of other types
  sibling    the ratio of the same model at the nearest other batch size, measured on both
  siblings   on the line through the two nearest, logarithms of ratio over logarithm of batch size
"""
import ast
import gzip
import json
import math
import pathlib
import random
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


def batch_of(job):
    return int(job.partition("(batch size ")[2].rstrip(")") or 1)


def probes(known, count):
    """Jobs that a new one is measured beside: of as many types as there are, in turn."""
    of_type = {}
    for job in sorted(known):
        of_type.setdefault(type_of(job), []).append(job)
    return sorted(known, key=lambda job: (of_type[type_of(job)].index(job), type_of(job)))[:count]


def solved(matrix, right):
    """Gauss and Jordan, with pivots. `matrix` is symmetric and positive definite."""
    rows = [[*row, r] for row, r in zip(matrix, right)]
    for i in range(len(rows)):
        p = max(range(i, len(rows)), key=lambda r: abs(rows[r][i]))
        rows[i], rows[p] = rows[p], rows[i]
        for r, row in enumerate(rows):
            if r != i and row[i]:
                rows[r] = [x - row[i] / rows[i][i] * y for x, y in zip(row, rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


class Factors:
    """log throughput = mean + sensitivity + pressure + the product of two more factors of each."""
    RANK, TURNS, RIDGE = 2, 25, (0.3, 0.5, 0.5)

    def __init__(self, pairs, known, probes_of_new):
        beside = set(probes(known, probes_of_new))
        seen = {(a, b): math.log(min(max(t, 0.02), 1)) for (a, b), t in pairs.items()
                if (a in known or b in beside) and (b in known or a in beside) and (a in known or b in known)}
        self.mean = statistics.mean(v for pair, v in seen.items() if set(pair) <= known)
        draw, jobs = random.Random(1), sorted({job for job, _ in pairs})
        self.sensitivity = {job: [0, *(draw.gauss(0, 0.3) for _ in range(self.RANK))] for job in jobs}
        self.pressure = {job: [0, *(draw.gauss(0, 0.3) for _ in range(self.RANK))] for job in jobs}
        rows = {job: [(b, v) for (a, b), v in seen.items() if a == job] for job in jobs}
        columns = {job: [(a, v) for (a, b), v in seen.items() if b == job] for job in jobs}
        for _ in range(self.TURNS):
            for job in jobs:
                self.sensitivity[job] = self.least_squares(rows[job], self.pressure)
            for job in jobs:
                self.pressure[job] = self.least_squares(columns[job], self.sensitivity)

    def least_squares(self, told, others):
        size = self.RANK + 1
        matrix = [[self.RIDGE[i] if i == j else 0.0 for j in range(size)] for i in range(size)]
        right = [0.0] * size
        for other, value in told:
            row = [1.0, *others[other][1:]]
            for i in range(size):
                right[i] += row[i] * (value - self.mean - others[other][0])
                for j in range(size):
                    matrix[i][j] += row[i] * row[j]
        return solved(matrix, right)

    def __call__(self, job, neighbour):
        s, p = self.sensitivity[job], self.pressure[neighbour]
        return min(1, math.exp(self.mean + s[0] + p[0] + sum(x * y for x, y in zip(s[1:], p[1:]))))


class Profile:
    """Sensitivity and pressure by job, of the pairs of `known` jobs."""

    def __init__(self, pairs, known, probes_of_new):
        logs = {pair: math.log(min(max(t, 0.05), 1)) for pair, t in pairs.items()}
        inner = {pair: v for pair, v in logs.items() if set(pair) <= known}
        self.mean = statistics.mean(inner.values())
        self.sensitivity, self.pressure = {}, {}
        for _ in range(TURNS_OF_FIT):
            for job in sorted(known):
                self.sensitivity[job] = self.part([v - self.mean - self.pressure.get(b, 0) for (a, b), v in inner.items() if a == job], 1)
            for job in sorted(known):
                self.pressure[job] = self.part([v - self.mean - self.sensitivity[a] for (a, b), v in inner.items() if b == job], 1)
        beside = probes(known, probes_of_new)
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
            "profile 1": Profile(pairs, known, 1), "profile 3": Profile(pairs, known, 3), "profile 7": Profile(pairs, known, 7), "factors 7": Factors(pairs, known, 7), "factors 12": Factors(pairs, known, 12)}


def probes_of(name):
    return int(name.split()[1]) if " " in name else 0


def new_pairs(pairs, known, probes_of_new):
    """With a job of the type left out, in both directions, none that was measured."""
    beside = set(probes(known, probes_of_new))
    for (a, b), truth in pairs.items():
        was_measured = (a in known and a in beside and b not in known) or (b in known and b in beside and a not in known)
        if not {a, b} <= known and not was_measured and (b, a) in pairs:
            yield (a, b), truth


def pooled_margin(by_type):
    ratios = sorted(ratio for of in by_type for ratio in of)
    return ratios[int(0.005 * len(ratios))]


def margin_of_types(by_type):
    worst = [math.log(min(of)) for of in by_type]
    return math.exp(statistics.mean(worst) - 3 * statistics.stdev(worst))


def bounded(pairs, probes_of_new, least_sum, margin_of):
    """@return how many pairs are said to get `least_sum` together, how many of them get less than their bound, how many less than by turns, the median margin."""
    jobs = {job for job, _ in pairs}
    types = sorted({type_of(job) for job in jobs})
    advised = broken = lost = 0
    margins = []
    for left_out in types:
        known = {job for job in jobs if type_of(job) != left_out}
        inner = {pair: t for pair, t in pairs.items() if set(pair) <= known}
        by_type = []
        for also_out in sorted({type_of(job) for job in known}):
            learnt = {job for job in known if type_of(job) != also_out}
            predict = Factors(inner, learnt, probes_of_new)
            by_type.append([truth / predict(*pair) for pair, truth in new_pairs(inner, learnt, probes_of_new)])
        margin = margin_of(by_type)
        margins.append(margin)
        predict = Factors(pairs, known, probes_of_new)
        for (a, b), truth in new_pairs(pairs, known, probes_of_new):
            if a > b or predict(a, b) + predict(b, a) < least_sum:
                continue
            advised += 1
            broken += truth < margin * predict(a, b) or pairs[b, a] < margin * predict(b, a)
            lost += truth + pairs[b, a] < 1
    return advised, broken, lost, statistics.median(margins)


SHEETS = {"k80": (240, 4.37), "p100": (732, 9.3), "v100": (900, 15.7)}  # GB/s, FP32 TFLOPS (catalog/gpus.csv)


def elsewhere(path):
    """By pair of GPUs: median error of the throughput there by the throughput here, percent, of each way to say it."""
    told = json.load(gzip.open(path))
    alone = {gpu: {ast.literal_eval(key)[0]: value["null"] for key, value in told[gpu].items() if ast.literal_eval(key)[1] == 1} for gpu in GPUS}
    out = {}
    for here in GPUS:
        for there in GPUS:
            if here == there:
                continue
            ratio = {job: alone[there][job] / alone[here][job] for job in alone[here] if job in alone[there] and alone[here][job] > 0}
            errors = {"roofline": [], "others": [], "sibling": [], "siblings": []}
            sheets = [SHEETS[there][i] / SHEETS[here][i] for i in (0, 1)]
            for job, truth in ratio.items():
                ways = {"roofline": math.sqrt(sheets[0] * sheets[1]),
                        "others": statistics.median(r for other, r in ratio.items() if type_of(other) != type_of(job))}
                for name, said in ways.items():
                    errors[name].append(abs(said - truth) / truth)
                siblings = sorted((other for other in ratio if type_of(other) == type_of(job) and other != job),
                                  key=lambda other: abs(math.log(batch_of(other) / batch_of(job))))[:2]
                if len(siblings) == 2:
                    x, y = ([math.log(of(other)) for other in siblings] for of in (batch_of, ratio.get))
                    on_line = y[0] + (y[1] - y[0]) * (math.log(batch_of(job)) - x[0]) / (x[1] - x[0])
                    errors["sibling"].append(abs(ratio[siblings[0]] - truth) / truth)
                    errors["siblings"].append(abs(math.exp(on_line) - truth) / truth)
            out[here, there] = {name: 100 * statistics.median(of) for name, of in errors.items()}
    return out


def evaluate(pairs):
    jobs = {job for job, _ in pairs}
    errors, advised, broken = {}, {}, {}
    for left_out in sorted({type_of(job) for job in jobs}):
        known = {job for job in jobs if type_of(job) != left_out}
        for name, predict in predictors(pairs, known).items():
            for (a, b), truth in new_pairs(pairs, known, probes_of(name)):
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
    print("\nsaid to get more together than by turns: pairs, of them below their bound, below turns; margin of the bound")
    for probes_of_new in (7, 12):
        for name, margin_of in (("99.5 %", pooled_margin), ("3 sigma", margin_of_types)):
            print(f"factors {probes_of_new}, {name:8}" + "".join("{:16}{:6}{:6}{:6.2f}".format(*bounded(by_gpu[gpu], probes_of_new, 1.0, margin_of)) for gpu in GPUS))
    print("\non another GPU: error %, " + ", ".join(elsewhere(path)["k80", "p100"]))
    for (here, there), errors in elsewhere(path).items():
        print(f"{here + ' → ' + there:14} " + "".join(f"{error:10.1f}" for error in errors.values()))


main()
