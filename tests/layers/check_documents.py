#!/usr/bin/env python3
"""Documents stay true: links in Markdown files lead to files that exist, and no tracked text names a machine's own paths.

Usage: check_documents.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

REQUIRED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs/formats.md", "docs/glossary.md",
            "docs/dependencies.md", "docs/benchmarks.md"]


def tracked(source):
    out = subprocess.run(["git", "-C", str(source), "ls-files", "-z"], capture_output=True, check=True).stdout
    return [source / name for name in out.decode().split("\0") if name]


def dead_links(path, text):
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', text):
        if not re.match(r'[a-z]+:', target) and not (path.parent / target).exists():
            yield target


def main(source):
    problems = [f"missing: {name}" for name in REQUIRED if not (source / name).exists()]
    for path in tracked(source):
        if path.suffix in (".png", ".gz") or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        where = path.relative_to(source)
        if path.suffix == ".md":
            problems += [f"{where}: link to {target}, which does not exist" for target in dead_links(path, text)]
        if path.suffix in (".cc", ".h", ".py", ".md") and path.name != "check_documents.py":
            for number, line in enumerate(text.splitlines(), 1):
                if re.search(r'(^|[\s"\'`(=])/(work|home|root)/', line):
                    problems.append(f"{where}:{number}: a path of one machine: {line.strip()[:80]}")
                if re.search(r'\b(TODO|FIXME|XXX)\b', line):
                    problems.append(f"{where}:{number}: unfinished: {line.strip()[:80]}")
    print("\n".join(problems))
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
