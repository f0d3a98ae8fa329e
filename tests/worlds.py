"""A small screen for kNN, fusion and decomposition: labelled rows, test rows, a gene space and runs, as files bring them."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import numpy as np

from core.base.config import Settings
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.runs.workspace import Workspace, open_workspace
from core.store import datasets
from core.store.attachment import let_go
from tests import cases

# One file of each kind of knowledge pack, about the symbols of `cases`.
PACKS = {
    "descriptions": {
        "Ga": "A kinase of the stress response.",
        "Gb": "A kinase of the membrane.",
        "Gc": "Stress response of the membrane.",
    },
    "orthologs": {"Ga": "GENEA", "Gc": "GENEC"},
    "proteins": {"Ga": "ENSMUSP00000000001", "Gb": "ENSMUSP00000000002"},
    "pathways": {"Ga": ["Stress"], "Gb": []},
    "network": [["Ga", "Gb", 900], ["Gb", "Gc", 500]],
    "regulation": {"meta": {"source": "a table of factors"}, "pairs": {"Pa|Ga": 1}},
    "lps_response": {
        "meta": {"source": "a table of responses"},
        "prior": {
            gene: {"logfc": change, "p_value": 0.5, "p_adj": 0.5, "mean_lps": 2.0, "mean_ctrl": 1.0}
            for gene, change in (("Ga", 1.0), ("Gb", -1.0), ("Gc", 0.5))
        },
    },
}


def workspace_in(folder: Path) -> Workspace:
    """The workspace of a folder, in which "tester" works."""
    return open_workspace(Settings(workspace=folder, author="tester"))


def pack(kind: str) -> bytes:
    """A knowledge pack's file."""
    return json.dumps(PACKS[kind]).encode()


def table_of(vectors: Mapping[str, Sequence[float]]) -> bytes:
    """A gene space as CSV."""
    width = len(next(iter(vectors.values())))
    return cases.as_csv(
        ["symbol", *(f"d{i}" for i in range(width))],
        [[symbol, *row] for symbol, row in vectors.items()],
    )


@dataclass(frozen=True)
class Screen:
    """ids, pert and gene of every row, labels with None for the test rows, which come last; vectors: of most genes."""

    ids: tuple[str, ...]
    pert: tuple[str, ...]
    gene: tuple[str, ...]
    labels: tuple[str | None, ...]
    vectors: dict[str, list[float]]

    @property
    def n_train(self) -> int:
        return sum(label is not None for label in self.labels)

    def files(self) -> dict[str, bytes]:
        """train.csv, test.csv and the space near.csv."""
        rows = list(zip(self.ids, self.pert, self.gene, self.labels, strict=True))
        n = self.n_train
        return {
            "train.csv": cases.as_csv(["id", "pert", "gene", "label"], rows[:n]),
            "test.csv": cases.as_csv(["id", "pert", "gene"], [row[:3] for row in rows[n:]]),
            "near.csv": table_of(self.vectors),
        }


def screen() -> Screen:
    """Nine perturbations on twelve genes, 70 labelled rows of them; six test rows on genes of their own.

    The space knows neither the labelled gene G11 nor the test gene H2, and has vectors for perturbations too.
    """
    rng = np.random.default_rng(5)
    pairs = [(f"P{i}", f"G{j}") for i in range(9) for j in range(12)]
    train = [pairs[i] for i in sorted(rng.choice(len(pairs), 70, replace=False))]
    test = [("Q0", "H0"), ("Q0", "H1"), ("Q0", "H2"), ("Q1", "H0"), ("Q1", "H1"), ("Q1", "H3")]
    labels = [
        str(label) for label in rng.choice(["up", "down", "none"], len(train), p=[0.3, 0.3, 0.4])
    ]
    pert, gene = zip(*train, *test, strict=True)
    known = [symbol for symbol in sorted({*pert, *gene}) if symbol not in ("G11", "H2")]
    vectors = {symbol: np.round(rng.normal(size=4), 3).tolist() for symbol in known}
    ids = tuple(f"{a}_{b}" for a, b in (*train, *test))
    return Screen(ids, pert, gene, (*labels, *[None] * len(test)), vectors)


def llm(ids: Sequence[str], seed: int = 1, tokens: int = 100) -> bytes:
    """A submission on these rows whose numbers belong to the row, so that fewer rows have the same numbers.

    Every seventh of the labelled rows was never predicted (0.333, 0.333).
    """
    rows = []
    for key in ids:
        rng = np.random.default_rng([seed, *key.encode()])
        p_de, p_up = np.round(rng.uniform(0.1, 0.9, 2), 2)
        missed = key.startswith("P") and rng.random() < 1 / 7
        rows.append(
            (
                key,
                *(
                    (0.333, 0.333)
                    if missed
                    else (round(p_de * p_up, 6), round(p_de * (1 - p_up), 6))
                ),
                "none",
            )
        )
    return cases.submission(rows, tokens)


def import_small(workspace: Workspace) -> None:
    """Import six rows, four of them labelled, and a debate over four of them, called "debate"."""
    for content, name in (
        (cases.TRAIN, "train.csv"),
        (cases.TEST, "test.csv"),
        (cases.DEBATES, "debate.csv"),
    ):
        assert import_upload(workspace, content, name).kind != "failed"


def furnish(workspace: Workspace) -> Screen:
    """Bring the screen with its space "near" and an LLM's runs "llm train" (labelled rows) and "llm test" (the others); an empty
    workspace gets a copy of what was imported once."""
    with workspace.store.read() as db:
        has_rows = bool(datasets.list_all(db))
    if has_rows:
        return import_screen(workspace)
    copied(_screen_once(), workspace)
    return screen()


@cache
def _screen_once() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="perturbdesk-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return template(folder, import_screen)


def import_screen(workspace: Workspace) -> Screen:
    """Bring the same by imports of now, in this time zone."""
    made = screen()
    files = made.files() | {
        "a.csv": llm(made.ids[: made.n_train]),
        "b.csv": llm(made.ids[made.n_train :]),
    }
    for name, content in files.items():
        called = {"a.csv": "llm train", "b.csv": "llm test"}.get(name)
        assert import_upload(workspace, content, name, ImportOptions(name=called)).kind != "failed"
    return made


def template(folder: Path, fill: Callable[[Workspace], object]) -> Path:
    """A workspace that is filled once and then copied; copying takes a fifth of the time."""
    workspace = workspace_in(folder)
    fill(workspace)
    return folder


def copied(made: Path, workspace: Workspace) -> Workspace:
    """An empty workspace, filled with a template's files but its logs, which other tests may have written."""
    left_out = shutil.ignore_patterns("desk.log*", "comparisons")
    shutil.copytree(made, workspace.settings.workspace, ignore=left_out, dirs_exist_ok=True)
    return workspace


def kept_files(workspace: Workspace) -> dict[str, int]:
    """Every file below data/ with its size (safetensors writes its header in no fixed order), but the store's own and what was
    looked at, which counts for a dataset that is imported again."""
    data = workspace.settings.data
    files = [
        path for path in sorted(data.rglob("*")) if path.is_file() and "duckdb" not in path.name
    ]
    return {
        str(path.relative_to(data)): path.stat().st_size
        for path in files
        if path.parent.name != "comparisons"
    }


@contextmanager
def opened_directly(file: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """A store's file as another program opens it, past the store."""
    let_go(file)
    with duckdb.connect(str(file), read_only=read_only) as db:
        yield db
