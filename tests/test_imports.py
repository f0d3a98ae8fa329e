"""Who may import whom: the arrows of the house."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from core.features import features

pytestmark = pytest.mark.soak  # `make lint` and `make soak PART=variants` run them
ROOT = Path(__file__).resolve().parent.parent
EVERYONE = {
    "types",
    "clock",
    "row_schema",
    "records",
    "file_io",
    "file_limits",
    "hashes",
    "errors",
    "system_errors",
    "config",
    "environment",
    "memory",
    "secrets_file",
    "setting_types",
    "fields",
    "packages",
    "parquet_walk",
    "texts",
    "symbols",
    "compressed",
    "delimited",
    "workbook",
    "version",
    "log",
    "label_marks",
}
MAY_IMPORT = {
    "pages": {"ui", "actions", "plots", "report"},
    "app": {"ui"},
    "cli": {"actions", "audit", "cells", "embeddings", "engine", "finetune", "llm", "methods"}
    | {"report", "scoring", "store", "submission", "target_ranking", "transfer"},
    "ui": {
        "actions",
        "audit",
        "cells",
        "embeddings",
        "engine",
        "evidence",
        "explorer",
        "finetune",
        "llm",
        "methods",
    }
    | {"plots", "report", "scoring", "stats", "store", "submission", "target_ranking", "transfer"},
    "actions": {
        "importing",
        "cells",
        "datasets",
        "store",
        "audit",
        "embeddings",
        "transfer",
        "methods",
        "engine",
        "evidence",
        "llm",
        "stats",
    }
    | {"submission", "site", "explorer", "finetune", "target_ranking", "jobs", "net", "scoring", "report"},
    "importing": {"audit", "cells", "datasets", "embeddings", "engine", "scoring", "stats", "store"},
    "finetune": {"engine", "jobs", "methods", "llm", "evidence", "transfer"},
    "site": {"store", "scoring", "audit", "plots", "report"},
    "submission": {"datasets", "llm", "methods"},
    "methods": {"llm", "evidence", "transfer", "stats", "audit"},
    "engine": {"jobs", "methods", "llm", "evidence", "store", "audit", "net"},
    "audit": {"stats"},
    "scoring": {"store", "stats", "transfer", "audit"},
    "explorer": {"methods", "plots", "scoring", "stats", "store", "transfer"},
    "report": {"explorer", "audit", "evidence", "plots", "scoring", "stats", "store"},
    "plots": {"stats"},
    "store": {"audit"},
    "datasets": {"net", "llm"},
    "target_ranking": {"stats", "cells", "embeddings", "jobs"},
    "cells": {"stats"},
    "stats": set(),
    "embeddings": {"net"},
    "transfer": {"embeddings", "stats"},
    "llm": {"net"},
    "evidence": {"net"},
    "jobs": set(),
    "net": set(),
    "texts": set(),
    "symbols": set(),
    "compressed": set(),
    "delimited": set(),
    "workbook": set(),
    "types": set(),
    "row_schema": set(),
    "records": set(),
    "label_marks": set(),
    "file_io": set(),
    "file_limits": set(),
    "hashes": set(),
    "errors": set(),
    "system_errors": set(),
    "config": {"net"},
    "environment": {"net"},
    "secrets_file": {"net"},
    "setting_types": set(),
    "fields": set(),
    "packages": set(),
    "parquet_walk": set(),
    "version": set(),
    "log": {"net"},
    "__main__": {"cli"},
    "__init__": set(),
}
ALL_ROOMS = {room for room in MAY_IMPORT if room not in ("pages", "app", "__init__", "__main__")}
MAY_IMPORT["features"] = ALL_ROOMS
MAY_IMPORT["base"] = {"actions", "engine", "report", "store"}  # for the type checker alone
# What is in these rooms and belongs to a feature has not moved into its folder yet; the other rooms import no feature.
SHELLS = {"app", "pages", "cli", "ui", "actions", "report"}
ONLY_IN = {"duckdb": {"store"}, "streamlit": {"ui", "pages", "app"}, "plotly": {"plots", "report", "ui"}}
ONLY_IN["streamlit"].add("features")
STATS_MAY_USE = {"numpy", "scipy"}
STANDARD = {"__future__", "collections", "dataclasses", "functools", "itertools", "math", "typing", "enum", "warnings"}


def room_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[1] if parts[0] == "core" else parts[0]


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in ast.walk(parsed(file)) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(file: Path) -> list[str]:
    modules: list[str] = []
    for node in import_statements(file):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{file}: relative import"
            # `from core import stats` names a room in what follows, `from core.ui import shared` a folder
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules += names if node.module in ("core", "core.ui", "core.features") else [node.module or ""]
    return [module for module in modules if module != "core.__version__"]


FILES = sorted([ROOT / "app.py", *(ROOT / "core").rglob("*.py"), *(ROOT / "pages").glob("*.py")])


def refusals(file: Path) -> Iterator[str]:
    """What a file imports and may not."""
    room = room_of(file)
    for module in imported(file):
        top, *rest = module.split(".")
        allowed = room in ONLY_IN.get(top, {room})
        if top == "core" and rest:
            allowed &= rest[0] in MAY_IMPORT[room] | EVERYONE | {room, "base"} | ({"features"} if room in SHELLS else set())
        if room == "stats" and top != "core":
            allowed &= top in STATS_MAY_USE | STANDARD
        if not allowed:
            yield f"{file.relative_to(ROOT)}: {room} may not import {module}"


@pytest.mark.parametrize("room", sorted({room_of(file) for file in FILES}))
def test_arrows_point_the_right_way(room: str) -> None:
    assert not [refusal for file in FILES if room_of(file) == room for refusal in refusals(file)]


def test_a_page_takes_parts_from_its_own_folder_and_from_what_pages_share() -> None:
    """A file in core/ui/FOLDER imports FOLDER and shared, a page one folder and shared; shared imports no page's folder."""
    folders = {path.name for path in (ROOT / "core" / "ui").iterdir() if path.is_dir() and any(path.glob("*.py"))} - {"shared"}
    for file in FILES:
        used = {module.split(".")[2] for module in imported(file) if module.startswith("core.ui.")} & folders
        room, *place = file.relative_to(ROOT).with_suffix("").parts
        if room == "core" and place[0] == "ui":
            assert used <= {place[1]}, f"{file}: takes parts from {', '.join(sorted(used - {place[1]}))}"
        else:
            assert len(used) <= 1, f"{file}: takes parts from {', '.join(sorted(used))}"


def test_features_import_each_other_only_where_they_say_so() -> None:
    for file in (ROOT / "core" / "features").rglob("*.py"):
        place = file.relative_to(ROOT / "core" / "features").with_suffix("").parts
        used = {module.split(".")[2] for module in imported(file) if module.startswith("core.features.")}
        allowed = {*place[:1], *(features()[place[0]].needs if len(place) > 1 else ())}
        used &= features().keys()
        assert used <= allowed, f"{file}: imports {', '.join(sorted(used - allowed))}"


def test_what_features_need_is_no_circle() -> None:
    tuple(TopologicalSorter({feature.name: feature.needs for feature in features().values()}).static_order())


def test_every_arrow_is_used() -> None:
    """An arrow that no file needs any more is taken out of the list."""
    used = {(room_of(file), module.split(".")[1]) for file in FILES for module in imported(file) if module.startswith("core.")}
    used -= {(room, other) for room, other in used if "base" in (room, other) or "features" in (room, other)}
    used.add(("pages", "plots"))  # by a page of a few lines, as docs/extending.md has one
    assert {(room, other) for room, others in MAY_IMPORT.items() if room not in ("base", "features") for other in others} <= used


def test_no_files_import_one_another_in_a_circle() -> None:
    """Whether at the top of a file, inside a function or for the type checker alone."""
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in FILES}
    graph = {name: {found for found in imported_files(file, set(names)) if found != name} for name, file in names.items()}
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
        names = [ast.unparse(each.test) if isinstance(each, ast.If) else "" for each in ast.parse(path.read_text("utf-8")).body]
        assert "__name__ == '__main__'" not in names[:-1], f"{path.relative_to(ROOT)}: what follows is missing when it is run"
