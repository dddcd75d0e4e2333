"""scripts/check-gpu, on a GPU of stand-ins: what it finds there is known. Usage: test_check_gpu.py STINT SCRIPT"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

STINT, SCRIPT = sys.argv[1:3]

# Answers as nvidia-smi does; the memory in use never changes.
NVIDIA_SMI = """#!/bin/sh
case "$*" in
  -L) echo "GPU 0: Stand-in (UUID: GPU-0)" ;;
  *=name,*) echo "Stand-in, 550.1, 16000, 1000, 9.0, [N/A]" ;;
  *) echo 1000 ;;
esac
"""


class CheckGpu(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.report = self.folder / "report.md"

    def check(self, *arguments, **environment):
        return subprocess.run([sys.executable, SCRIPT, STINT, "-o", str(self.report), *arguments], env=dict(os.environ, **environment),
                              capture_output=True, text=True, timeout=240, check=False)

    def test_without_a_gpu_nothing_is_fetched_and_nothing_is_said_to_pass(self):
        done = self.check(PATH=str(self.folder))
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no GPU 0 here", done.stderr)
        report = self.report.read_text()
        self.assertIn("# No GPU 0", report)
        for check in ("answers", "half precision", "memory", "pressure", "promise", "mig", "rates"):
            self.assertIn(f"| {check} | not tried | ", report)
        self.assertNotIn("passed", report)
        self.assertIn("- CUDA graphs for fixed shapes", report)

    def test_what_passes_and_what_fails_is_told_apart(self):
        real = os.environ.get("STINT_ONNXRUNTIME")
        if not real or "STINT_FAKE_ONNXRUNTIME" not in os.environ:
            self.skipTest("no ONNX Runtime in STINT_ONNXRUNTIME, or no stand-ins")
        smi = self.folder / "nvidia-smi"
        smi.write_text(NVIDIA_SMI)
        smi.chmod(0o755)
        done = self.check("--onnxruntime", os.environ["STINT_FAKE_ONNXRUNTIME"], "--only", "answers", "--only", "memory", "--only", "mig",
                          PATH=f"{self.folder}:{os.environ['PATH']}", FAKE_ONNXRUNTIME_REAL=real, FAKE_CUDA_GPUS="1", FAKE_CUDA_USED_MIB="1000",
                          LD_LIBRARY_PATH=str(pathlib.Path(os.environ["STINT_FAKE_CUDA"]).parent))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        report = self.report.read_text()
        self.assertIn("| answers | passed | largest difference 0.00e+00", report)
        # Models are booked by their size at least, and the memory of the stand-in never grows.
        self.assertIn("| memory | FAILED | a model takes 0.0 MiB", report)
        self.assertIn("| mig | skipped | no MIG device", report)
        self.assertIn("### Not in Stint", report)
        late = self.check("--onnxruntime", os.environ["STINT_FAKE_ONNXRUNTIME"], "--only", "answers", "--minutes", "0",
                          PATH=f"{self.folder}:{os.environ['PATH']}", FAKE_ONNXRUNTIME_REAL=real, FAKE_CUDA_GPUS="1", FAKE_CUDA_USED_MIB="1000",
                          LD_LIBRARY_PATH=str(pathlib.Path(os.environ["STINT_FAKE_CUDA"]).parent))
        self.assertEqual(late.returncode, 0, late.stdout + late.stderr)
        self.assertIn("| answers | skipped | 0 minutes were over", self.report.read_text())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
