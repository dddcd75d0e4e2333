#!/usr/bin/env python3
"""The list of what the program consists of. Usage: test_sbom.py STINT SOURCE_DIR."""
import json
import pathlib
import subprocess
import sys
import tempfile


def main():
    stint, source = sys.argv[1], pathlib.Path(sys.argv[2])
    bom = json.loads(subprocess.run([source / "scripts/sbom", stint], capture_output=True, text=True, check=True).stdout)
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.5")
    listed = {p["value"] for c in bom["components"] for p in c["properties"] if p["name"] == "stint:file"}
    loaded = {word for line in subprocess.run(["ldd", stint], capture_output=True, text=True, check=True).stdout.splitlines()
              for word in line.split() if word.startswith("/")}
    assert listed == loaded, listed ^ loaded
    for component in bom["components"]:
        if not component["bom-ref"].startswith("deb:"):
            continue
        known = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\n", component["name"]], capture_output=True, text=True, check=True).stdout
        assert component["version"] in known.splitlines(), component
        assert component["purl"].startswith("pkg:deb/") and "@" in component["purl"], component
    assert any(c["name"] == "libssl3" for c in bom["components"])
    assert [c["name"] for c in bom["components"] if c["bom-ref"].startswith("source:")] == sorted(
        p.name for p in (source / "third_party").iterdir() if p.is_dir())
    with tempfile.TemporaryDirectory() as folder:  # a library that no package has
        library = pathlib.Path(folder) / "libstray.so"
        subprocess.run(["cc", "-shared", "-x", "c", "-o", library, "/dev/null"], check=True)
        program = pathlib.Path(folder) / "program"
        subprocess.run(["cc", "-x", "c", "-o", program, "-", "-x", "none", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{folder}"], input="int main(){return 0;}",
                       text=True, check=True)
        refused = subprocess.run([source / "scripts/sbom", program], capture_output=True, text=True, check=False)
        assert refused.returncode != 0 and "no package has it" in refused.stderr, refused


if __name__ == "__main__":
    main()
