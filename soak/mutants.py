"""Breaks functions of core/ chosen at random, one operator or constant each, and says which the tests catch.

`python -m soak.mutants FOLDER [--seed 0] [--count 20]`: FOLDER is a checkout that may be changed, with its own tests. Those of a
broken function are first the files that name its module or mirror it, then those of its room, then all others;
the first failure ends them. A function that took another form since is chosen no more: `--like FILE` breaks those of an earlier
answer again, so that two suites are compared by the same functions.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

OTHER_OPERATORS: dict[type, tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
LIMIT_S = 1200


@dataclass(frozen=True)
class Mutant:
    """A function of core/ with one operator or constant replaced. offset: of `old` in the function's source, in characters."""

    file: str
    function: str
    offset: int
    old: str
    new: str

    def apply(self, root: Path) -> bool:
        """Break the function in a checkout; return whether it was found there unchanged in that place."""
        path = root / self.file
        if not path.exists():
            return False
        text = path.read_text("utf-8")
        for name, begin, end in functions(text):
            place = begin + self.offset
            if name == self.function and text[place : min(place + len(self.old), end)] == self.old:
                path.write_text(text[:place] + self.new + text[place + len(self.old) :], "utf-8")
                return True
        return False


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each function, dotted, with where it begins and ends in the text."""
    starts = line_starts(text)

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    yield (
                        name,
                        starts[child.lineno - 1] + child.col_offset,
                        starts[child.end_lineno - 1] + child.end_col_offset,
                    )
                yield from walk(child, f"{name}.")

    yield from walk(ast.parse(text), "")


def line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def changes(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield what may be replaced in a function's source: its place, the text there and another."""
    starts = line_starts(source)

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    def between(
        left: ast.expr, right: ast.expr, operator: ast.AST
    ) -> Iterator[tuple[int, str, str]]:
        if (
            type(operator) in OTHER_OPERATORS
            and left.end_lineno
            and left.end_col_offset is not None
        ):
            old, new = OTHER_OPERATORS[type(operator)]
            found = source.find(
                old,
                place(left.end_lineno, left.end_col_offset),
                place(right.lineno, right.col_offset),
            )
            if found >= 0:
                yield found, old, new

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            for left, operator, right in zip(
                [node.left, *node.comparators], node.ops, node.comparators, strict=False
            ):
                yield from between(left, right, operator)
        elif isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, node.op)
        elif (
            isinstance(node, ast.Constant)
            and node.end_col_offset is not None
            and type(node.value) in (bool, int, float)
        ):
            old = source[
                place(node.lineno, node.col_offset) : place(
                    node.end_lineno or 0, node.end_col_offset
                )
            ]
            yield (
                place(node.lineno, node.col_offset),
                old,
                str(not node.value) if isinstance(node.value, bool) else f"({old} + 1)",
            )


def choose(root: Path, count: int, seed: int) -> list[Mutant]:
    """Return mutants of as many functions of core/, chosen at random among those in which something can be replaced."""
    found: list[list[Mutant]] = []
    for path in sorted((root / "core").rglob("*.py")):
        text = path.read_text("utf-8")
        if not text.isascii():
            text = text.encode("ascii", "replace").decode()  # columns of ast count bytes
        for name, begin, end in functions(text):
            indented = text[begin:end]
            try:
                options = [
                    Mutant(str(path.relative_to(root)), name, *change)
                    for change in changes(indented)
                ]
            except (SyntaxError, IndexError):
                continue
            if options:
                found.append(options)
    generator = random.Random(seed)
    return [generator.choice(options) for options in generator.sample(found, count)]


def test_files(root: Path, mutant: Mutant) -> list[list[str]]:
    """Return the test files in three parts: those nearest to the mutant's module, its room's, all others."""
    module = mutant.file.removesuffix(".py").replace("/", ".")
    room, short = module.split(".")[1], module.rsplit(".", 1)[-1]
    nearest, own, others = [], [], []
    for path in sorted((root / "tests").rglob("test_*.py")):
        text, relative = path.read_text("utf-8"), path.relative_to(root)
        if "serve" in relative.parts or path.name == "test_docs.py":
            continue
        parent = f"from {module.rsplit('.', 1)[0]} import"
        near = module in text or path.stem == f"test_{short}" or (parent in text and short in text)
        (nearest if near else own if room in relative.parts else others).append(str(relative))
    return [nearest, own, others]


def catch(root: Path, mutant: Mutant, widest: int) -> str:
    """Return the first part of the tests that fails with a mutant in place; "" if none does."""
    for part, files in zip(
        ("nearest", "room", "others")[:widest], test_files(root, mutant), strict=False
    ):
        if not files:
            continue
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:randomly",
            "--no-header",
            "-o",
            "addopts=--import-mode=importlib -n 2 --dist loadfile",
            "-m",
            "not soak",
        ]
        try:
            done = subprocess.run(
                [*command, *files],
                cwd=root,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{part}: no end"
        if done.returncode == 1 or done.returncode == 2:
            failed = [
                line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
            ]
            return f"{part}: {(failed or ['?'])[0][:160]}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument(
        "--like", type=Path, help="an earlier answer, of which the same functions are broken"
    )
    parser.add_argument("--widest", type=int, default=3, help="how many parts of the tests are run")
    chosen = parser.parse_args()
    root = chosen.folder.resolve()
    if chosen.like:
        mutants = [
            Mutant(**{k: v for k, v in line.items() if k != "caught"})
            for line in map(json.loads, chosen.like.open())
        ]
    else:
        mutants = choose(root, chosen.count, chosen.seed)
    for mutant in mutants:
        before = (root / mutant.file).read_text("utf-8") if (root / mutant.file).exists() else ""
        if not mutant.apply(root):
            print(json.dumps({**asdict(mutant), "caught": None}), flush=True)
            continue
        try:
            print(
                json.dumps({**asdict(mutant), "caught": catch(root, mutant, chosen.widest)}),
                flush=True,
            )
        finally:
            (root / mutant.file).write_text(before, "utf-8")


if __name__ == "__main__":
    main()
