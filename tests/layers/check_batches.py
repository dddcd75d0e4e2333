#!/usr/bin/env python3
"""Sources compiled in one batch see what each other keeps to itself; none may use it.

A function in an anonymous namespace is its file's alone. In a batch another file's call can pick it silently, when it fits the arguments
better than the one that is meant. This reads every batch of a build with clang and names each use, in one source, of what another source
declares. Usage: check_batches.py BUILD_FOLDER [MODULE...]. Exit 77 (skipped) without Debian's python3-clang-19.
"""
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import clang.cindex as clang
except ImportError:
    print("skipped: python3-clang-19 is not installed")
    sys.exit(77)


LIBRARY = ("algorithm array chrono cmath condition_variable deque filesystem fstream functional iostream limits map memory mutex numeric optional"
           " random ranges regex set span sstream string thread tuple unordered_map unordered_set utility variant vector"
           " fmt/chrono.h fmt/format.h fmt/ranges.h nlohmann/json.hpp").split()


def compile_flags(command):
    """What clang needs of a command for g++: definitions, include folders, the standard."""
    words, kept = shlex.split(command), []
    for i, word in enumerate(words):
        if word.startswith(("-I", "-D", "-std=")):
            kept.append(word)
        elif word == "-isystem":
            kept += [word, words[i + 1]]
    return kept


def precompile_library(stem, flags):
    """The standard library, fmt and JSON read once, without the bodies of their functions: what uses them need not be instantiated here."""
    header, result = f"{stem}.h", f"{stem}.pch"
    with open(header, "w") as out:
        out.writelines(f"#include <{name}>\n" for name in LIBRARY)
    options = clang.TranslationUnit.PARSE_INCOMPLETE | clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    clang.Index.create().parse(header, args=[*flags, "-x", "c++-header"], options=options).save(result)
    return ["-include-pch", result]


def uses_across(batch, flags, source_folder):
    """(file, line, name, file that declares it) of every use of another source's own declarations."""
    unit = clang.Index.create().parse(batch, args=flags)
    errors = [d for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    if errors:
        sys.exit(f"check_batches: clang cannot read {batch}: {errors[0]}")
    kinds = {clang.CursorKind.DECL_REF_EXPR, clang.CursorKind.CALL_EXPR, clang.CursorKind.TYPE_REF, clang.CursorKind.TEMPLATE_REF}
    found = {}

    def look_at(cursor, here):
        for child in cursor.get_children():
            target = child.referenced if child.kind in kinds else None
            if target is not None and target.kind not in (clang.CursorKind.NAMESPACE, clang.CursorKind.TYPE_ALIAS_DECL):
                declared = target.canonical.location.file  # a header, where there is one
                # A compiler's built-in is declared where it is first used.
                own = not target.spelling.startswith("__builtin_")
                if own and declared and declared.name.endswith(".cc") and os.path.realpath(declared.name) != here:
                    found[(here, child.location.line, target.spelling, os.path.realpath(declared.name))] = None
            look_at(child, here)

    def top(cursor):
        for child in cursor.get_children():
            place = child.location.file and os.path.realpath(child.location.file.name)
            if not place or not place.startswith(source_folder) or not place.endswith(".cc"):
                continue  # headers: nothing of theirs is a source's own
            if child.kind in (clang.CursorKind.NAMESPACE, clang.CursorKind.UNEXPOSED_DECL):
                top(child)
            else:
                look_at(child, place)

    top(unit.cursor)
    return list(found)


def main():
    build = os.path.realpath(sys.argv[1])
    modules = sys.argv[2:]
    library = glob.glob("/usr/lib/*/libclang-19.so*")
    if not library:
        print("skipped: libclang 19 is not installed")
        sys.exit(77)
    clang.Config.set_library_file(library[0])
    resources = subprocess.check_output(["clang++-19", "-print-resource-dir"], text=True).strip()
    problems = batches = 0
    precompiled = {}  # by the definitions that it was made with
    with tempfile.TemporaryDirectory() as scratch:
        for command in json.load(open(os.path.join(build, "compile_commands.json"))):
            batch = command["file"]
            name = re.search(r"/batches/(\w+)_\w+\.cc$", batch)
            if not name or (modules and name.group(1) not in modules):
                continue
            batches += 1
            flags = [*compile_flags(command["command"]), "-resource-dir", resources]
            folder = next(f[2:] for f in flags if re.search(r"/src$", f))
            definitions = tuple(sorted(f for f in flags if f.startswith("-D")))
            if definitions not in precompiled:
                precompiled[definitions] = precompile_library(os.path.join(scratch, str(len(precompiled))), flags)
            for place, line, what, owner in uses_across(batch, [*flags, *precompiled[definitions]], folder):
                problems += 1
                print(f"{place}:{line}: uses {what}, which is {owner}'s own: give one of them another name, or share it in a header")
    print(f"{batches} batches, {problems} problems")
    sys.exit(1 if problems or not batches else 0)


if __name__ == "__main__":
    main()
