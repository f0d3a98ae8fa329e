"""Who may import whom: the arrows of the house."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from core.features import features

pytestmark = pytest.mark.soak  # `make lint` and `make soak PART=variants` run them
ROOT = Path(__file__).resolve().parent.parent
KERNEL = {  # each room, and the rooms that it may import beside base
    "base": set(),
    "stats": set(),
    "store": set(),
    "llm": set(),
    "evidence": set(),
    "embeddings": set(),
    "transfer": {"embeddings", "stats"},
    "methods": {"evidence", "llm", "stats", "transfer"},
    "plots": {"stats"},
    "scoring": {"methods", "plots", "stats", "store", "transfer"},
    "runs": {"evidence", "llm", "methods", "stats", "store", "transfer"},
    "ui": {"llm", "methods", "plots", "runs", "scoring", "stats", "store", "transfer"},
    "cli": {"runs", "store"},
}
ONLY_IN = {
    "duckdb": {"store"},
    "streamlit": {"ui", "features", "pages", "app"},
    "plotly": {"plots", "ui", "features"},
}
STATS_MAY_USE = {"numpy", "scipy"}
STANDARD = {
    "__future__",
    "collections",
    "dataclasses",
    "functools",
    "itertools",
    "math",
    "typing",
    "enum",
    "warnings",
}


def room_of(file: Path) -> str:
    """The room of a file: of the kernel, "features", or "" for `core.submission` and what starts everything."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    if parts[0] != "core":
        return parts[0]
    return parts[1] if len(parts) > 2 else ""


def feature_of(module: str) -> str:
    parts = module.split(".")
    return (
        parts[2]
        if parts[:2] == ["core", "features"] and len(parts) > 2 and parts[2] in features()
        else ""
    )


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    return [
        node for node in ast.walk(parsed(file)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def imported(file: Path) -> list[str]:
    modules = []
    for node in import_statements(file):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{file}: relative import"
            # `from core import stats` names a room in what follows
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules += names if node.module in ("core", "core.features") else [node.module or ""]
    return [module for module in modules if module != "core.__version__"]


FILES = sorted([ROOT / "app.py", *(ROOT / "core").rglob("*.py"), *(ROOT / "pages").glob("*.py")])


def refusals(file: Path) -> Iterator[str]:
    """What a file imports and may not, but for features."""
    room = room_of(file)
    for module in imported(file):
        top, *rest = module.split(".")
        allowed = room in ONLY_IN.get(top, {room})
        if (
            top == "core"
            and rest
            and room in KERNEL
            and not (room == "base" and rest[0] in ("runs", "store"))
        ):  # for types
            allowed &= rest[0] in KERNEL[room] | {room, "base", "features"}
        if room == "stats" and top != "core":
            allowed &= top in STATS_MAY_USE | STANDARD
        if not allowed:
            yield f"{file.relative_to(ROOT)}: {room} may not import {module}"


@pytest.mark.parametrize("room", sorted({room_of(file) for file in FILES}))
def test_arrows_point_the_right_way(room: str) -> None:
    assert not [refusal for file in FILES if room_of(file) == room for refusal in refusals(file)]


def test_the_kernel_imports_no_feature_and_features_each_other_only_where_they_say_so() -> None:
    for file in FILES:
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        own = feature_of(module)
        if room_of(file) in ("app", "pages") or file.name == "feature.py":
            continue
        allowed = {"", own, *(features()[own].needs if own else ())}
        used = set(map(feature_of, (*imported(file), *lazily_imported(file))))
        assert used <= allowed, f"{module}: imports {', '.join(sorted(used - allowed))}"


def lazily_imported(file: Path) -> Iterator[str]:
    """The modules that strings name, as "core.base.texts:shorten"."""
    for node in ast.walk(parsed(file)):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"core(\.\w+)+:\w+", node.value)
        ):
            yield node.value.partition(":")[0]


def test_a_page_imports_the_shell_and_its_own_feature_alone() -> None:
    for page in (ROOT / "pages").glob("*.py"):
        used = {feature_of(module) for module in imported(page)} - {""}
        assert len(used) <= 1, f"{page}: imports {', '.join(sorted(used))}"


def test_what_features_need_is_no_circle() -> None:
    tuple(
        TopologicalSorter(
            {feature.name: feature.needs for feature in features().values()}
        ).static_order()
    )


def test_every_arrow_is_used() -> None:
    """An arrow that no file needs any more is taken out of the list."""
    used = {
        (room_of(file), module.split(".")[1])
        for file in FILES
        for module in (*imported(file), *lazily_imported(file))
        if module.startswith("core.")
    }
    assert {(room, other) for room, others in KERNEL.items() for other in others} <= used


def test_no_files_import_one_another_in_a_circle() -> None:
    """Whether at the top of a file, inside a function or for the type checker alone."""
    names = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in FILES
    }
    graph = {
        name: {found for found in imported_files(file, set(names)) if found != name}
        for name, file in names.items()
    }
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


def imported_files(file: Path, names: set[str]) -> set[str]:
    """The files that a file imports: `from a import b` is one of a/b.py where there is such a file, else of a."""
    found = set()
    for node in import_statements(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & names or {node.module or ""}
    return found & names


def test_pages_are_short() -> None:
    for page in (ROOT / "pages").glob("*.py"):
        assert len(page.read_text("utf-8").splitlines()) <= 60, page


def test_a_file_that_is_run_defines_everything_first() -> None:
    for path in FILES:
        names = [
            ast.unparse(each.test) if isinstance(each, ast.If) else ""
            for each in ast.parse(path.read_text("utf-8")).body
        ]
        assert "__name__ == '__main__'" not in names[:-1], (
            f"{path.relative_to(ROOT)}: what follows is missing when it is run"
        )


OTHERS = [
    file for place in ("tests/serve", "soak", "bench") for file in (ROOT / place).glob("*.py")
]


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_only_long_checks_import_exists(file: Path) -> None:
    for node in import_statements(file):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core"):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
