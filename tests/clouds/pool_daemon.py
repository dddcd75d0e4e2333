"""What tests of a daemon's pools share: jobs that want a machine, in a simulated daemon at `self.daemon` with the queue acme."""
import time


def wait_until(what, shown=None, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.1)
    raise AssertionError(f"it does not come about within {seconds} s" + (f": {shown()}" if shown else ""))


class PoolJobs:
    def submit(self, seconds=100_000):
        return self.daemon.ask("POST", "/v1/jobs", {"queue": "acme", "command": ["train"], "gpus": 8, "simulated_duration": seconds})["id"]

    def cancel_all(self):
        for job in self.daemon.ask("GET", "/v1/jobs?state=active")["jobs"]:
            self.daemon.ask("POST", f"/v1/jobs/{job['id']}/cancel", {})
