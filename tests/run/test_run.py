#!/usr/bin/env python3
"""stint run and the training examples, with the training killed again and again: the result must not change.

Usage: test_run.py STINT_BINARY SOURCE_DIR [unittest arguments]. Only processes started here are signalled.
"""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

STINT = TRAINING = None
QUICK = ["--look-every", "20ms", "--pause", "10ms", "--longest-pause", "20ms"]


def children(pid):
    """Ids of the children of a process that runs."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().rsplit(")", 1)
        except OSError:
            continue
        state, parent = rest.split()[:2]
        if int(parent) == pid and state != "Z":
            found.append((int(stat.parent.name), name.split("(", 1)[1]))
    return found


def lines(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


class Run(unittest.TestCase):
    def setUp(self):
        self._dir = tempfile.TemporaryDirectory()
        self.addCleanup(self._dir.cleanup)
        self.dir = pathlib.Path(self._dir.name)
        self.checkpoints = self.dir / "ck"
        self.log = self.dir / "steps.log"
        self.events_file = self.dir / "events.jsonl"
        self.running = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def start(self, *args, command, env=None):
        quick = [] if "--look-every" in args else QUICK
        process = subprocess.Popen([STINT, "run", "--checkpoint-dir", self.checkpoints, "--events", self.events_file, *quick, *args,
                                    "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, **(env or {})})
        self.running.append(process)
        return process

    def run_to_end(self, *args, command, code=0, env=None):
        process = self.start(*args, command=command, env=env)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return out, err

    def events(self, kind):
        if not self.events_file.exists():
            return []
        # A reader may see a line in the middle of its being written, where it crosses a page.
        whole = self.events_file.read_text().rpartition("\n")[0]
        return [e for e in map(json.loads, whole.splitlines()) if e["event"] == kind]

    def wait_for(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come")
            time.sleep(0.005)

    def train(self, steps=400, every=20, **more):
        options = {"--steps": steps, "--save-every": every, "--step-seconds": 0.001, "--log": self.log, **more}
        return [sys.executable, TRAINING / "train.py", *(str(word) for pair in options.items() for word in pair)]

    def uninterrupted(self, **more):
        env = {**os.environ, "STINT_CHECKPOINT_DIR": str(self.dir / "plain"), "STINT_RESTORE_FROM": ""}
        command = self.train(**{"--log": self.dir / "plain.log", "--step-seconds": 0, **more})
        return subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout


class Resuming(Run):
    def test_a_training_killed_many_times_gives_the_same_result(self):
        seed = 20261121
        print(f"seed {seed}", file=sys.stderr)
        numbers, kills, every, steps = random.Random(seed), 0, 20, 400
        process = self.start("--retries", "50", command=self.train(steps, every))
        for _ in range(8):
            reached = len(lines(self.log))
            self.wait_for(lambda: process.poll() is not None or len(lines(self.log)) >= reached + numbers.randint(5, 45))
            trainings = [pid for pid, name in children(process.pid) if name.startswith("python")]
            if process.poll() is not None or not trainings:
                break
            os.kill(trainings[0], signal.SIGKILL)
            kills += 1
            self.wait_for(lambda: process.poll() is not None or len(self.events("start")) > kills)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.splitlines()[-1] + "\n", self.uninterrupted())
        self.assertGreaterEqual(kills, 5)
        done = lines(self.log)
        redone = len(done) - steps
        print(f"{kills} kills, {redone} of {steps} steps redone", file=sys.stderr)
        self.assertEqual(set(done), set(range(1, steps + 1)))
        # What a kill can cost: the steps since the last checkpoint, and one checkpoint that was being saved.
        self.assertLessEqual(redone, kills * 2 * every)

    def test_the_shell_example_too(self):
        command = ["sh", TRAINING / "train.sh"]
        env = {"TRAIN_LOG": str(self.log), "STEPS": "600", "SAVE_EVERY": "50"}
        process = self.start("--retries", "20", command=command, env=env)
        self.wait_for(lambda: len(lines(self.log)) >= 120)
        os.kill(next(pid for pid, name in children(process.pid) if name == "sh"), signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out, f"{sum(i * i for i in range(1, 601))}\n")
        self.assertIn("step-", self.events("start")[1]["from"])

    def test_what_a_killed_one_left_ends_before_the_next_begins(self):
        helper, alone = self.dir / "helper", self.dir / "alone"
        # Like a loader of data: a process in its own session, which the kernel ends with neither of them.
        first = self.start(command=["sh", "-c", f"setsid sh -c 'echo $$ > {helper}; sleep 600' >/dev/null 2>&1 & wait"])
        self.wait_for(lambda: helper.exists() and helper.read_text().strip())
        pid = int(helper.read_text())
        first.kill()
        first.communicate(timeout=60)
        self.assertTrue(pathlib.Path(f"/proc/{pid}").exists())
        self.run_to_end(command=["sh", "-c", f"test -e /proc/{pid}/exe || touch {alone}"])
        self.assertTrue(alone.exists(), "two runs were at work on the same checkpoints")
        self.assertRegex(self.events("ended_leftovers")[0]["text"], r"^\d process(es)? of an earlier run")

    def test_a_notice_is_passed_on_and_the_next_machine_goes_on(self):
        copies = self.dir / "copies"
        process = self.start("--sync-to", copies, "--notice", "20s", command=self.train())
        self.wait_for(lambda: len(lines(self.log)) >= 70)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        reached = lines(self.log)[-1]
        self.assertLess(reached, 400)
        self.assertEqual((copies / "latest").readlink().name, f"step-{reached}", "what was saved last is copied")
        shutil.rmtree(self.checkpoints)  # another machine
        out, _ = self.run_to_end("--sync-to", copies, command=self.train())
        self.assertEqual(out, self.uninterrupted())
        self.assertEqual(lines(self.log), list(range(1, 401)), "no step is done twice")
        self.assertEqual(len(self.events("fetched")), 1)

    def test_a_damaged_newest_checkpoint_is_passed_over(self):
        self.run_to_end(command=self.train(steps=100))
        newest = self.checkpoints / "step-100"
        text = (newest / "state.json").read_bytes()
        (newest / "state.json").write_bytes(text[:50] + b"#" + text[51:])
        out, _ = self.run_to_end(command=self.train(steps=200))
        self.assertTrue(self.events("start")[-1]["from"].endswith("step-80"))
        self.assertEqual([e["checkpoint"] for e in self.events("passed_over")], ["step-100"])
        self.assertTrue((self.checkpoints / ".damaged-step-100").exists())
        self.assertEqual(out, self.uninterrupted(**{"--steps": 200}))


class Supervising(Run):
    def test_exit_code_is_the_commands(self):
        self.run_to_end("--retries", "0", command=["sh", "-c", "exit 7"], code=7)
        self.run_to_end("--retries", "0", command=["sh", "-c", "kill -9 $$"], code=137)
        self.run_to_end(command=["no-such-program-anywhere"], code=127)

    def test_what_cannot_be_started_is_not_tried_again(self):
        for command in (["python3", "no-such-training.py", "--epochs", "3"], ["/bin/sh", "-eu", "no-such-training.sh"]):
            _, err = self.run_to_end(command=command, code=127)
            self.assertIn("no-such-training", err)
            self.assertIn("there is no such script", err)
        self.assertEqual(self.events("start"), [])
        # The shell says the same by its exit code; one start was made then.
        self.run_to_end(command=["sh", "-c", "no-such-program-anywhere"], code=127)
        self.assertEqual(len(self.events("start")), 1)

    def test_gives_up_after_the_retries(self):
        _, err = self.run_to_end("--retries", "3", command=["sh", "-c", "echo x; exit 3"], code=3)
        self.assertEqual(len(self.events("start")), 4)
        self.assertIn("started 4 times", err)

    def test_a_command_that_does_not_leave_is_ended_in_time(self):
        process = self.start("--notice", "300ms", command=["sh", "-c", f"trap '' TERM; touch {self.dir}/up; sleep 1000 & wait; sleep 1000"])
        self.wait_for(lambda: (self.dir / "up").exists())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)

    def test_one_that_is_saved_without_a_list_counts_once_it_does_not_change(self):
        script = f"echo 1 >{self.checkpoints}/a.pt; sleep 1; exit 1"
        self.run_to_end("--retries", "1", "--settled-after", "100ms", command=["sh", "-c", script], code=1)
        self.assertGreaterEqual(len(self.events("checkpoint")), 1)
        self.assertTrue(self.events("start")[1]["from"].endswith("a.pt"))

    def test_one_that_a_crash_may_have_cut_off_does_not(self):
        script = f"echo $STINT_START >{self.checkpoints}/a.pt; exit 1"
        self.run_to_end("--retries", "1", command=["sh", "-c", script], code=1)
        self.assertEqual(self.events("start")[1]["from"], "")
        self.assertEqual(len(self.events("passed_over")), 1)

    def test_copies_that_failed_before_do_not_cost_the_last_one(self):
        copies = self.dir / "copies"
        save = 'mkdir {0}/tmp && echo state > {0}/tmp/state && mv {0}/tmp {0}/{1}'
        script = "\n".join([
            f"rm -rf {copies} && touch {copies}",  # a file where the folder for copies should be
            save.format(self.checkpoints, "step-1"),
            f"until [ $(grep -c copy_failed {self.events_file}) -ge 4 ]; do sleep 0.02; done",
            # Between two looks: what is copied is copied after the command's end.
            f"rm {copies} && mkdir {copies} && " + save.format(self.checkpoints, "step-2")])
        self.run_to_end("--sync-to", copies, "--look-every", "300ms", "--pause", "10ms", "--longest-pause", "20ms", command=["sh", "-c", script])
        self.assertEqual((copies / "latest").readlink().name, "step-2")

    def test_no_checkpoint_for_too_long_is_an_alert_told_once(self):
        _, err = self.run_to_end("--alert-after", "100ms", command=["sleep", "1"])
        self.assertEqual(len(self.events("alert")), 1)
        self.assertIn("ALERT", err)

    def test_tells_what_it_cost(self):
        _, err = self.run_to_end("--price", "3600", command=["true"])
        done = self.events("done")[0]
        # A price of one per second: cost and seconds are the same number, to the tenth that is told.
        self.assertAlmostEqual(float(done["cost"]), float(done["seconds"]), delta=0.06)
        self.assertIn("USD", err)

    def test_two_do_not_share_a_folder(self):
        process = self.start(command=["sh", "-c", f"touch {self.dir}/up; sleep 1000"])
        self.wait_for(lambda: (self.dir / "up").exists())
        _, err = self.run_to_end(command=["true"], code=1)
        self.assertIn("another stint run", err)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)

    def test_works_without_a_checkpoint_folder(self):
        done = subprocess.run([STINT, "run", "--retries", "1", "--pause", "10ms", "--", "sh", "-c", "exit $((1 - STINT_START))"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    STINT = sys.argv[1]
    TRAINING = pathlib.Path(sys.argv[2], "examples", "training")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
