#!/usr/bin/env python3
"""Documents stay true and readable: links in Markdown files lead to files and headings that exist, no tracked text names a machine's own
paths, ARCHITECTURE.md and the READMEs of src/ keep their length, paragraphs stay short, and words that stop the eye stay out.

Usage: check_documents.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

ARCHITECTURE_WORDS = 2500
README_LINES = 40  # of each folder of src/
PARAGRAPH_WORDS = 80  # on the mean of a document
# Words a reader stumbles over; a named actor in the active voice reads at once.
STUMBLING = ["nobody", "of its own", "of their own", "sent away", "is told or not"]

REQUIRED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs/formats.md", "docs/glossary.md",
            "docs/dependencies.md", "docs/benchmarks.md"]


def tracked(source):
    out = subprocess.run(["git", "-C", str(source), "ls-files", "-z"], capture_output=True, check=True).stdout
    return [source / name for name in out.decode().split("\0") if name]


def dead_links(path, text):
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', text):
        if not re.match(r'[a-z]+:', target) and not (path.parent / target).exists():
            yield target


def anchors(text):
    """As GitHub makes them of headings."""
    found, fence = set(), False
    for line in text.splitlines():
        fence ^= line.lstrip().startswith("```")
        heading = None if fence else re.match(r"#{1,6} +(.+)", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def dead_anchors(path, text):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", text):
        page = path.parent / target if target else path
        if not re.match(r"[a-z]+:", target) and page.suffix == ".md" and page.exists() and anchor not in anchors(page.read_text()):
            yield f"{target}#{anchor}"


def paragraphs(text):
    """Running text in words: no headings, tables, code; an item of a list is one."""
    found, now, fence = [], 0, False
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("```"):
            fence = not fence
        item = re.match(r"\s*([-*]|\d+\.) ", line)
        ends = not line.strip() or line.startswith(("#", "|", "    ", "```"))
        if now and (ends or item):
            found.append(now)
            now = 0
        if not fence and not ends:
            now += len(line.split())
    return found


def style_problems(source, path, text):
    where = path.relative_to(source)
    if str(where) == "ARCHITECTURE.md" and len(text.split()) > ARCHITECTURE_WORDS:
        yield f"{where}: {len(text.split())} words, more than {ARCHITECTURE_WORDS}: detail of a folder belongs in its README"
    if where.parts[0] == "src" and len(text.splitlines()) > README_LINES:
        yield f"{where}: more than {README_LINES} lines"
    sizes = paragraphs(text)
    if sizes and sum(sizes) > PARAGRAPH_WORDS * len(sizes):
        yield f"{where}: paragraphs have {sum(sizes) // len(sizes)} words on the mean, more than {PARAGRAPH_WORDS}"
    for number, line in enumerate(text.splitlines(), 1):
        for words in STUMBLING:
            if re.search(rf"\b{words}\b", line, re.I):
                yield f"{where}:{number}: '{words}': say who does what"


def spoken_problems(where, text):
    """The same words in texts that the program prints or shows. Checks of the program's own state are for its makers."""
    for number, line in enumerate(text.splitlines(), 1):
        if "CHECK(" in line:
            continue
        for literal in re.findall(r'"(?:[^"\\]|\\.)*"', line):
            for words in STUMBLING:
                if re.search(rf"\b{words}\b(?!'s)", literal, re.I):
                    yield f"{where}:{number}: '{words}' in a text that people see: say who does what"


def comment_problems(where, text):
    """"nobody" in comments: whoever reads code wants to know which job, client or program it is."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = re.search(r"(?://|^\s*#)(.*)", line)
        if comment and re.search(r"\bnobody\b", comment[1], re.I):
            yield f"{where}:{number}: 'nobody' in a comment: say who"


def main(source):
    problems = [f"missing: {name}" for name in REQUIRED if not (source / name).exists()]
    problems += [f"missing: src/{folder.name}/README.md" for folder in sorted((source / "src").iterdir())
                 if folder.is_dir() and not (folder / "README.md").exists()]
    for path in tracked(source):
        if path.suffix in (".png", ".gz") or not path.is_file():
            continue
        text = path.read_text(errors="replace")
        where = path.relative_to(source)
        if path.suffix == ".md":
            problems += [f"{where}: link to {target}, which does not exist" for target in dead_links(path, text)]
            problems += [f"{where}: link to {target}, which has no such heading" for target in dead_anchors(path, text)]
            problems += style_problems(source, path, text)
        if path.suffix in (".cc", ".js") and where.parts[0] in ("src", "page") and not re.search("_test|testing_", path.name):
            problems += spoken_problems(where, text)
        if path.suffix in (".cc", ".h", ".js", ".py") and path.name != "check_documents.py":
            problems += comment_problems(where, text)
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
