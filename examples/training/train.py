"""A training that really resumes: stochastic gradient descent on y = 3x − 2 with noise, in plain Python.

    stint run --checkpoint-dir ck -- python3 train.py --steps 2000 --save-every 50
"""
import argparse
import json
import random
import sys
import time

from stint_checkpoint import Checkpoints

options = argparse.ArgumentParser()
options.add_argument("--steps", type=int, default=2000)
options.add_argument("--save-every", type=int, default=50)
options.add_argument("--step-seconds", type=float, default=0.001)
options.add_argument("--log", help="append each step that is done")
options = options.parse_args()

saved = Checkpoints()
# All that the result depends on is in the checkpoint: the weights, the step, and where the random numbers are.
state = saved.restore(lambda folder: json.loads((folder / "state.json").read_text()))
state = state or {"step": 0, "slope": 0.0, "offset": 0.0, "random": random.Random(7).getstate()}
numbers = random.Random()
numbers.setstate((state["random"][0], tuple(state["random"][1]), state["random"][2]))

while state["step"] < options.steps:
    x = numbers.uniform(-1, 1)
    error = state["slope"] * x + state["offset"] - (3 * x - 2 + numbers.gauss(0, 0.1))
    state["slope"] -= 0.05 * error * x
    state["offset"] -= 0.05 * error
    state["step"] += 1
    time.sleep(options.step_seconds)
    if options.log:
        with open(options.log, "a") as log:
            log.write(f"{state['step']}\n")
    if state["step"] % options.save_every == 0 or saved.stop_requested:
        state["random"] = numbers.getstate()
        saved.save(f"step-{state['step']}", lambda folder: (folder / "state.json").write_text(json.dumps(state)))
    if saved.stop_requested:
        sys.exit(0)
print(f"slope {state['slope']!r} offset {state['offset']!r}")
