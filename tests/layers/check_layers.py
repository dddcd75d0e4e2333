#!/usr/bin/env python3
"""The arrows of ARCHITECTURE.md are the arrows of the build.

For every file of src/: it includes only its own module and modules its CMake declaration reaches; files below
the line use no clock, file, socket, thread, randomness or environment, and look things up in unordered containers
but never walk through them; no two modules depend on each other; no two types of one program have one name, which no linker
notices; equal is what operator== says, not what prints alike. Usage: check_layers.py SOURCE_DIR
"""
import pathlib
import re
import sys

PURE = {"base", "model", "catalog", "capacity", "sched", "ledger", "telemetry", "codec", "sim", "launch", "advise", "batching", "documents"}
# Headers whose presence below the line means the outside leaks in; fmt's file output is covered by <cstdio>.
FORBIDDEN_INCLUDES = re.compile(
    r'#include <(chrono|thread|mutex|shared_mutex|atomic|condition_variable|future|fstream|iostream|filesystem|random|ctime|'
    r'cstdio|stdio\.h|unistd\.h|fcntl\.h|sys/[a-z_]+\.h|sqlite3\.h|curl/.*|zlib\.h|dlfcn\.h)>')
FORBIDDEN_CALLS = re.compile(r'\b(std::getenv|getenv|std::rand|std::time|gettimeofday|clock_gettime|std::fopen|fopen)\s*\(')
UNORDERED = re.compile(r'unordered_(?:map|set)<.*>\s*&?\s*(\w+)\s*[;={(]')
# What two values print, compared to tell whether they are equal. A test may print one value twice, to see that text is stable.
PRINTED = r'(?:\w+(?:::|\.|->))*(?:to_json|to_text)\((?:[^()]|\([^()]*\))*\)(?:\.dump\([^()]*\))?'
EQUAL_BY_TEXT = re.compile(r'%s\s*[=!]=\s*%s|_(?:EQ|NE)\(\s*%s,\s*%s\)' % ((PRINTED,) * 4))
# A class that holds all of the scheduler or the engine sees everything: its view names what it needs.
HOLDS_ALL = re.compile(r'\b(?:Scheduler|Engine)::Impl\s*[&*]\s*\w+_;')
# check.cc prints the broken invariant before it aborts; that is the one thing below the line that speaks.
ALLOWED = {("base/check.cc", "cstdio")}


def modules(cmake_text):
    """name → declared dependencies, from the stint_module() lines."""
    found = {}
    for name, rest in re.findall(r'stint_module\((\w+)([^)]*)\)', cmake_text):
        deps = re.search(r'\bDEPS ([\w ]+?)(?: LIBS| TEST_LIBS|$)', rest.strip())
        found[name] = deps.group(1).split() if deps else []
    return found


def reachable(name, deps):
    seen, todo = set(), [name]
    while todo:
        for dep in deps.get(todo.pop(), []):
            if dep not in seen:
                seen.add(dep)
                todo.append(dep)
    return seen


def module_of(path, src):
    """A module's sub-folders are parts of it."""
    return path.relative_to(src).parts[0]


def types_of(text):
    """(line number, namespace::name) of the types a file defines outside of unnamed namespaces. As clang-format lays it out."""
    # A namespace of a few declarations ends without saying so.
    text = re.sub(r'^namespace [\w:]+ \{\n((?:(?:class|struct|enum) .*;\n)+)\}$', lambda m: "\n" + m.group(1), text, flags=re.M)
    spaces = []
    for number, line in enumerate(text.splitlines(), 1):
        opened = re.match(r'(?:inline )?namespace ?([\w:]*) \{$', line)
        if opened:
            spaces.append(opened.group(1))
        elif line.startswith("}  // namespace"):
            spaces.pop()
        defined = re.match(r'(?:struct|class|union|enum|enum class) (?:alignas\(.*\) )?(\w+)(?: final)?(?: : .*)? \{', line)
        if defined and "" not in spaces:
            yield number, "::".join([*spaces, defined.group(1)])


def check_code(src):
    problems = []
    for path in sorted(src.glob("*/**/*")):
        if path.suffix not in (".h", ".cc"):
            continue
        text = path.read_text()
        for found in EQUAL_BY_TEXT.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            problems.append(f"src/{path.relative_to(src).as_posix()}:{number}: two values are compared by what they print: "
                            "compare them with operator==")
        if HOLDS_ALL.search(text):
            problems.append(f"src/{path.relative_to(src).as_posix()}: a class holds all of the scheduler or engine: give it a view")
    return problems


def check_types(src):
    """The tests of a module are linked with every other file, not with other modules' tests."""
    problems, known = [], {}
    for path in sorted(src.glob("*/**/*")):
        if path.suffix not in (".h", ".cc"):
            continue
        tests_of = module_of(path, src) if path.name.endswith("_test.cc") or path.name.startswith("testing_") else None
        for number, name in types_of(path.read_text()):
            where = f"src/{path.relative_to(src).as_posix()}:{number}"
            for other, other_tests in known.setdefault(name, []):
                if tests_of is None or other_tests is None or tests_of == other_tests:
                    problems.append(f"{where}: {name} is defined in {other}, too: give one of them another name")
            known[name].append((where, tests_of))
    return problems


def check(source):
    src = source / "src"
    deps = modules((src / "CMakeLists.txt").read_text())
    problems = check_types(src) + check_code(src)
    for name in deps:
        reach = reachable(name, deps)
        if name in reach:
            problems.append(f"src/CMakeLists.txt: {name} depends on itself by way of {sorted(reach)}")
        if name in PURE and reach - PURE:
            problems.append(f"src/CMakeLists.txt: {name} is below the line but reaches {sorted(reach - PURE)}")
    for path in sorted(src.glob("*/**/*")):
        if path.suffix not in (".h", ".cc"):
            continue
        module, where = module_of(path, src), path.relative_to(src).as_posix()
        if module not in deps:
            problems.append(f"src/{where}: no stint_module({module} …) in src/CMakeLists.txt")
            continue
        allowed = reachable(module, deps) | {module}
        unordered = UNORDERED.findall(path.read_text())
        walk = re.compile(r'(for \(.*: |\b)(%s)(\)|\.c?begin\()' % "|".join(unordered)) if unordered else None
        test = path.name.endswith("_test.cc")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = re.match(r'#include "([^/"]+)/', line)
            if include and include.group(1) in deps and include.group(1) not in allowed:
                problems.append(f"src/{where}:{number}: {module} may not include {include.group(1)} (allowed: {sorted(allowed)})")
            if module not in PURE or test:
                continue
            system = FORBIDDEN_INCLUDES.search(line)
            if system and (where, system.group(1)) not in ALLOWED:
                problems.append(f"src/{where}:{number}: {module} is pure, but includes <{system.group(1)}>")
            walked = walk.search(line) if walk else None
            if walked and (walked.group(1) or walked.group(3) != ")"):
                problems.append(f"src/{where}:{number}: {module} is pure, but walks through the unordered {walked.group(2)}")
            if FORBIDDEN_CALLS.search(line.split("//")[0]):
                problems.append(f"src/{where}:{number}: {module} is pure, but calls {FORBIDDEN_CALLS.search(line).group(1)}")
        if path.suffix == ".h" and "#pragma once" not in path.read_text():
            problems.append(f"src/{where}: header without #pragma once")
    return problems, deps


def self_test(tmp):
    """The check fails where it must: an upward include, a clock below the line, an undeclared folder, a cycle."""
    src = tmp / "src"
    (src / "base").mkdir(parents=True)
    (src / "host").mkdir()
    (src / "CMakeLists.txt").write_text("stint_module(base LIBS fmt)\nstint_module(host DEPS base)\n")
    (src / "base" / "good.h").write_text("#pragma once\n")
    assert check(tmp)[0] == []
    (src / "base" / "deep").mkdir()
    (src / "base" / "deep" / "bad.cc").write_text('#include "host/clock.h"\n#include <chrono>\nint x = rand();\nauto y = getenv("A");\n')
    (src / "stray" / "deep").mkdir(parents=True)
    (src / "stray" / "deep" / "a.h").write_text("#pragma once\n")
    (src / "base" / "cache.cc").write_text("std::unordered_map<int, int> seen_;\nint f() { return seen_.find(1) == seen_.end(); }\n"
                                           "void g() { for (auto& x : seen_) use(x); }\nauto b = seen_.begin();\n")
    assert len(check(tmp)[0]) == 6, check(tmp)[0]
    (src / "host" / "a.h").write_text("#pragma once\nnamespace stint {\nstruct Info {\n};\n}  // namespace stint\n")
    (src / "base" / "a.cc").write_text("namespace stint {\nnamespace {\nstruct Info {\n};\n}  // namespace\n}  // namespace stint\n")
    assert not check_types(src)
    (src / "base" / "b.cc").write_text("namespace stint {\nclass Info final : public Other {\n};\n}  // namespace stint\n")
    assert len(check_types(src)) == 1
    (src / "base" / "c.cc").write_text("bool x = to_json(a) == to_json(*b);\nEXPECT_EQ(s::to_text(f(1)),\n  to_json(b).dump());\n"
                                       "bool y = to_json(a) == text;\nEXPECT_EQ(to_json(a).dump(), text);\n")
    (src / "base" / "d.h").write_text("#pragma once\nclass Moves {\n  Scheduler::Impl& s_;\n};\n")
    assert len(check_code(src)) == 3, check_code(src)
    (src / "CMakeLists.txt").write_text("stint_module(base DEPS host)\nstint_module(host DEPS base)\n")
    assert any("depends on itself" in p for p in check(tmp)[0])


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as tmp:
        self_test(pathlib.Path(tmp))
    found, declared = check(pathlib.Path(sys.argv[1]))
    print("\n".join(found))
    print(f"{len(declared)} modules, {len(found)} problems")
    sys.exit(1 if found else 0)
