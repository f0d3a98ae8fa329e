"""Breaks functions of core/ chosen at random, one operator or constant each, and says which the tests catch.

`python -m soak.mutants FOLDER [--seed 0] [--count 20]`: FOLDER is a checkout that may be changed, with its own tests. Those of a
broken function are first the files that name its module or mirror it, then those of its room, then all others;
the first failure ends them. A function that took another form since is chosen no more: `--like FILE` breaks those of an earlier
answer again, so that two suites are compared by the same functions.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

OTHER_OPERATORS: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.And: ast.Or, ast.Or: ast.And},
}
LIMIT_S = 1200
OPTIONS = "-m pytest -x -q -p no:randomly --no-header"


@dataclass(frozen=True)
class Mutant:
    """A function of core/ with the first expression that reads `old` replaced."""

    file: str
    function: str
    old: str
    new: str

    def apply(self, root: Path) -> bool:
        """Break the function in a checkout; return whether the expression was found in it."""
        path = root / self.file
        text = path.read_bytes() if path.exists() else b""
        for name, function in functions(ast.parse(text)):
            for node in ast.walk(function):
                if name == self.function and other(node) and ast.unparse(node) == self.old:
                    starts = [0, *(i + 1 for i, byte in enumerate(text) if byte == ord("\n"))]
                    begin = starts[node.lineno - 1] + node.col_offset
                    end = starts[node.end_lineno - 1] + node.end_col_offset
                    path.write_bytes(text[:begin] + self.new.encode() + text[end:])
                    return True
        return False


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield each function with its name, dotted."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(child, ast.ClassDef):
                yield f"{prefix}{child.name}", child
            yield from functions(child, f"{prefix}{child.name}.")


def other(node: ast.AST) -> ast.AST | None:
    """An expression with another operator, or another constant; None for those that have neither."""
    found = copy.copy(node)
    if isinstance(found, ast.Constant) and type(found.value) in (bool, int, float):
        found.value = not found.value if isinstance(found.value, bool) else found.value + 1
    elif isinstance(found, ast.Compare) and type(found.ops[0]) in OTHER_OPERATORS:
        found.ops = [OTHER_OPERATORS[type(found.ops[0])](), *found.ops[1:]]
    elif isinstance(found, ast.BinOp | ast.BoolOp) and type(found.op) in OTHER_OPERATORS:
        found.op = OTHER_OPERATORS[type(found.op)]()
    else:
        return None
    return found


def choose(root: Path, count: int, seed: int) -> list[Mutant]:
    """Return mutants of as many functions of core/, chosen at random among those in which something can be replaced."""
    found: list[list[Mutant]] = []
    for path in sorted((root / "core").rglob("*.py")):
        for name, function in functions(ast.parse(path.read_bytes())):
            changes = [(node, changed) for node in ast.walk(function) if (changed := other(node))]
            options = [
                Mutant(str(path.relative_to(root)), name, ast.unparse(a), f"({ast.unparse(b)})")
                for a, b in changes
            ]
            if options:
                found.append(options)
    generator = random.Random(seed)
    return [generator.choice(options) for options in generator.sample(found, count)]


def test_files(root: Path, mutant: Mutant) -> list[str]:
    """Return the test files, first those that name the mutant's module, then those of its room, then all others."""
    module, name = Path(mutant.file).with_suffix(""), Path(mutant.file).stem
    room = root / "tests" / module.parent.relative_to("core")

    def distance(path: Path) -> int:
        text = path.read_text("utf-8")
        is_named = ".".join(module.parts) in text or path.stem == f"test_{name}"
        return 0 if is_named else 1 if room in path.parents else 2

    files = [
        path
        for path in sorted((root / "tests").rglob("test_*.py"))
        if root / "tests" / "serve" not in path.parents and path.name != "test_docs.py"
    ]
    return [str(path.relative_to(root)) for path in sorted(files, key=distance)]


def catch(root: Path, mutant: Mutant) -> str:
    """Return the first test that fails with a mutant in place; "" if none does."""
    options = "addopts=--import-mode=importlib -n 2 --dist loadfile"
    command = [sys.executable, *OPTIONS.split(), "-o", options, "-m", "not soak"]
    try:
        done = subprocess.run(
            [*command, *test_files(root, mutant)],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "no end"
    lines = done.stdout.splitlines()
    failed = [line[:160] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return next(iter(failed), "?" if done.returncode in (1, 2) else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--like", type=Path, help="an earlier answer, whose mutants are made again")
    asked = parser.parse_args()
    root = asked.folder.resolve()
    mutants = choose(root, asked.count, asked.seed)
    if asked.like:
        earlier = [json.loads(line) for line in asked.like.open()]
        mutants = [Mutant(*(line[each.name] for each in fields(Mutant))) for line in earlier]
    for mutant in mutants:
        path = root / mutant.file
        before = path.read_bytes() if path.exists() else b""
        caught = catch(root, mutant) if mutant.apply(root) else None
        if before:
            path.write_bytes(before)
        print(json.dumps({**asdict(mutant), "caught": caught}), flush=True)


if __name__ == "__main__":
    main()
