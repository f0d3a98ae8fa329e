"""What the documents say is true: paths, commands and settings exist, tables are complete, diagrams are right, examples run."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from typer.main import get_command

import core.cli
from core.base.config import SECRET, Settings, variable_of
from core.base.row_schema import TABLES
from core.features import features
from core.runs.run_state import State
from core.store import Store
from tests.test_imports import KERNEL

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")])
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?:core|pages|tests|bench|soak|docs|\.streamlit)/[\w./-]*")
PLACEHOLDER = re.compile("[A-Z]{4,}|…")  # core/methods/NAME.py
GIVEN_BY_PEOPLE = {".streamlit/secrets.toml"}
EXAMPLE = re.compile(r"# ((?:core|pages|tests|app)[\w/]*\.py)\n")
ADDED_BEFORE = {  # the first words of a line that an example adds to a file → those of the line above which it stands
    "from core.features.importing.gene_signs": "from core.features.importing.pairs import (",
    '"core.features.scores.row_flags:PART"': '        "core.features.scores.report_parts:BASELINES"',
    "if is_signed": "    if are_replies(table, roles):",
    "from core.runs import spec": "from core.runs.request import RunRequest",
    "timeout_s: spec": "    endpoint: Server = None",
    "timeout_s=": "        concurrency=settings.concurrency,",
}
COPIED = ("core", "pages", "tests", ".streamlit")

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)


def blocks(document: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [
        code for found, code in FENCED.findall(document.read_text("utf-8")) if found == language
    ]


def quoted(document: Path) -> list[str]:
    """What stands between backticks outside of blocks."""
    return QUOTED.findall(FENCED.sub("", document.read_text("utf-8")))


def tables(document: Path, heading: str) -> list[list[str]]:
    """The rows of the first table below a heading, cell by cell, without their backticks."""
    section = document.read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    rows = [
        [cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
        for line in lines[2:]
    ]
    return rows[: next((i for i, row in enumerate(rows) if set(row[0]) <= {"-", "|"}), len(rows))]


@each_document
def test_every_path_exists(document: Path) -> None:
    named = {
        path
        for text in quoted(document)
        for path in PATH.findall(text)
        if not PLACEHOLDER.search(path)
    }
    missing = [path for path in sorted(named - GIVEN_BY_PEOPLE) if not (ROOT / path).exists()]
    assert not missing


def test_every_promise_of_the_threat_model_is_held_by_tests_that_exist() -> None:
    section = (
        (DOCS / "operations.md")
        .read_text("utf-8")
        .partition("## Threat model\n")[2]
        .partition("\n## ")[0]
    )
    promises = section.partition("| promise |")[2].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in promises if line.startswith("|")]
    assert len(rows) > 10
    for promise, held_by in rows:
        named = re.findall(r"`((?:tests|soak)/[\w/]+\.py)::(\w+)`", held_by)
        assert named, promise
        for file, test in named:
            found = ast.walk(ast.parse((ROOT / file).read_text("utf-8")))
            assert test in {node.name for node in found if isinstance(node, ast.FunctionDef)}, (
                f"{file}::{test}"
            )


@each_document
def test_every_link_leads_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", document.read_text("utf-8")):
        file, _, anchor = target.partition("#")
        linked = (document.parent / file) if file else document
        assert linked.exists(), target
        headings = (
            re.findall("^#+ (.+)$", linked.read_text("utf-8"), re.MULTILINE) if anchor else []
        )
        assert not anchor or anchor in {
            re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in headings
        }, target


def commands_in(document: Path) -> Iterator[list[str]]:
    """The words of every command line in blocks and between backticks, behind `perturbdesk` or `python -m core`."""
    lines = [
        line
        for language in ("sh", "")
        for code in blocks(document, language)
        for line in code.splitlines()
    ]
    for line in [*lines, *quoted(document)]:
        words = (
            line.partition("#")[0]
            .replace("python -m core ", "perturbdesk ")
            .replace(".venv/bin/perturbdesk", "perturbdesk")
        )
        if words.startswith("perturbdesk "):
            yield shlex.split(words)[1:]


@pytest.mark.soak  # `make lint` and `make soak PART=variants` run it
@each_document
def test_every_command_exists_with_its_options(document: Path) -> None:
    for words in commands_in(document):
        command = get_command(core.cli.app)
        context = command.make_context("perturbdesk", ["--help"], resilient_parsing=True)
        if words[0].startswith("--"):
            known = {option for parameter in command.params for option in parameter.opts}
            assert words[0] in known | {"--help"}, words
            continue
        words = (
            words[: words.index("--")] if "--" in words else words
        )  # what follows is another program's
        while hasattr(command, "commands"):
            if not words or words[0].startswith("--"):
                assert command.invoke_without_command, (
                    f"{command.name}: expected a command behind it"
                )
                break
            name, *words = words
            assert name in command.commands, f"{name}: no such command"
            _, command, _ = command.resolve_command(context, [name])
        known = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, words


@each_document
def test_every_target_of_make_exists(document: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = "\n".join(
        [*blocks(document, "sh"), *(text for text in quoted(document) if "make " in text)]
    )
    for target in re.findall(r"^(?:\w+=\S+ )?make ([a-z-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for part in re.findall(r"PART=([a-z_]+)", text):
        assert (ROOT / "soak" / f"test_{part}.py").exists(), f"make soak PART={part}"


def test_the_map_has_every_room_and_every_file_at_the_top() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("needs git and a checkout")
    named = " ".join(row[0] for row in tables(DOCS / "architecture.md", "Where things are"))
    for path in listed.stdout.splitlines():
        top, _, below = path.partition("/")
        inner = below.partition("/")[0] if top == "core" else ""
        place = f"core/{inner}" if inner else top
        known = place in named or (
            top.startswith("requirements-") and "requirements-*.txt" in named
        )
        assert known or inner in ("__init__.py", "__main__.py"), (
            f"{place}: not in the map of docs/architecture.md"
        )


def test_the_settings_are_all_there() -> None:
    rows = []
    for setting in fields(Settings):
        kind, default, what = (setting.metadata[name] for name in ("type", "default", "what"))
        secret = " Secret." if kind in SECRET else ""
        rows.append(
            [
                variable_of(setting.name),
                kind.name,
                default or str(setting.default),
                f"{what}{secret}",
            ]
        )
    assert tables(DOCS / "operations.md", "Settings") == rows


def test_the_tables_of_the_store_are_all_there(tmp_path: Path) -> None:
    with Store(tmp_path / "data" / "desk.duckdb", tmp_path / "cache").read() as db:
        columns = "SELECT table_name, string_agg(column_name, ', ' ORDER BY column_index) FROM duckdb_columns()"
        found = dict(db.execute(f"{columns} WHERE database_name = 'desk' GROUP BY ALL").fetchall())
    assert {row[0]: row[1] for row in tables(DOCS / "schema.md", "The store")} == found


def test_the_parts_of_a_bundle_are_all_there() -> None:
    parts = {row[0]: row[1] for row in tables(DOCS / "schema.md", "A run's bundle")}
    assert parts == {f"{name}.parquet": ", ".join(table.names) for name, table in TABLES.items()}


def drawn(block: str) -> set[tuple[str, str]]:
    """The arrows of a Mermaid block; "a --> b & c" is two."""
    arrows = re.findall(r"^ *(\S+) --> ([^:\n]+?)(?: : .*)?$", block, re.MULTILINE)
    return {(start, end) for start, ends in arrows for end in ends.split(" & ")}


def test_the_diagram_of_the_house_has_every_arrow() -> None:
    """Every arrow is one of KERNEL, and every room that another may import can be reached from it along arrows."""
    [house] = [
        block for block in blocks(DOCS / "architecture.md", "mermaid") if "subgraph" in block
    ]
    real = {(room, other) for room, others in KERNEL.items() for other in others}
    arrows = drawn(house)
    assert arrows <= real
    reached = set(arrows)
    while more := {(a, d) for a, b in reached for c, d in arrows if b == c} - reached:
        reached |= more
    assert real <= reached, f"not drawn: {sorted(real - reached)}"


def test_the_table_of_features_has_every_one() -> None:
    section = (DOCS / "architecture.md").read_text("utf-8").partition("### Features\n")[2]
    rows = re.findall(
        r"^\| `(\w+)` \| (.+) \| (.*) \|$", section.partition("\n##")[0], re.MULTILINE
    )
    brought = [(each.name, each.about, ", ".join(each.needs)) for each in features().values()]
    assert [tuple(row) for row in rows] == brought


def test_the_diagram_of_states_has_every_state() -> None:
    [states] = [
        block
        for block in blocks(DOCS / "architecture.md", "mermaid")
        if block.startswith("stateDiagram")
    ]
    assert {name for arrow in drawn(states) for name in arrow} - {"[*]", ""} == set(get_args(State))


@each_document
def test_diagrams_are_balanced(document: Path) -> None:
    for block in blocks(document, "mermaid"):
        first, *lines = block.splitlines()
        assert first.split()[0] in ("flowchart", "stateDiagram-v2", "sequenceDiagram")
        assert block.count("[") == block.count("]")
        assert block.count("(") == block.count(")")
        assert block.count('"') % 2 == 0
        opened = sum(bool(re.match(r"\s*(subgraph|state .*\{)", line)) for line in lines)
        assert opened == sum(line.strip() in ("end", "}") for line in lines)


def examples() -> list[tuple[str, str]]:
    """Path and code of every block: a whole file, or lines that are added to one."""
    found = []
    for code in blocks(DOCS / "extending.md", "python"):
        name = EXAMPLE.match(code)
        assert name, f"a block of extending.md does not begin with its path: {code[:60]!r}"
        found.append((name[1], code))
    return found


def add_lines(file: Path, code: str) -> None:
    """Put the lines of a block above the line that ADDED_BEFORE names."""
    [above] = [above for begin, above in ADDED_BEFORE.items() if code.lstrip().startswith(begin)]
    text = file.read_text("utf-8")
    assert text.count(above) == 1
    indent = " " * (len(above) - len(above.lstrip()))
    comma = (
        "" if code.startswith("from ") or code.rstrip().endswith(",") else ","
    )  # which the formatter would make a tuple of
    lines = code if code.startswith(" ") else f"{indent}{code.strip()}{comma}\n"
    file.write_text(text.replace(above, f"{lines.rstrip()}\n{above}"), "utf-8")


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the repository with the examples in it."""
    copy = tmp_path / "copy"
    for folder in COPIED:
        shutil.copytree(
            ROOT / folder,
            copy / folder,
            ignore=shutil.ignore_patterns("__pycache__", "secrets.toml"),
        )
    for file in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / file, copy / file)
    for name, code in examples():
        if (ROOT / name).exists():
            add_lines(copy / name, code.partition("\n")[2])
        else:
            assert not (copy / name).exists(), (
                f"{name} is there already: the example needs another name"
            )
            (copy / name).write_text(code, "utf-8")
    return copy


def run_in(copy: Path, *command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_keep_the_style(extended: Path) -> None:
    run_in(extended, "ruff", "check", "--no-cache", *dict(examples()))


@pytest.mark.soak  # `make lint` and `make soak PART=variants` run it
def test_the_examples_run(extended: Path) -> None:
    """Their own tests and the one of who imports whom pass."""
    tests = [name for name in dict(examples()) if name.startswith("tests/")]
    assert len(tests) == 8
    run_in(extended, "pytest", "-n", "0", "-p", "no:randomly", *tests, "tests/test_imports.py")
