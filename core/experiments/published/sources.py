"""The files behind published numbers that a workspace has. Each part is made on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from core import embeddings
from core.experiments.published.registry import SourceFile
from core.scoring import run_scores
from core.scoring.run_scores import RunRows
from core.store import Cursor, Store, datasets, imports, pairs, predictions, runs, spaces
from core.store.runs import Run
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space, space_over

# Builds a space of a kind (like `embed`) from the pack with a name and hash, without recording it.
BuildSpace = Callable[[str, str, str], embeddings.Space]
KINDS = {"text": ("text", "gene_desc"), "minilm": ("sentences", "gene_desc")}
KINDS |= {"string": ("network", "string_edges"), "lps": ("response", "hagai_lps_prior")}
R = TypeVar("R")


class NotHere(Exception):
    """A source file of a number is not in the workspace. The message names it, and how to get it."""


@dataclass(frozen=True, slots=True)
class Computed:
    """Our number. note: known reasons for a difference from the published one, such as the noise of its cuts."""

    value: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source in a workspace.

    id: of the dataset or run, or the pack's name; sha256: of the file, None if unknown. is_published: whether the content is
    the published one; only then must numbers be equal.
    """

    id: str
    sha256: str | None
    is_published: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The available files. cuts: number of cuts of the folds in a mean, with seeds from 0."""

    store: Store
    files: Mapping[str, SourceFile]
    build_space: BuildSpace
    cuts: int = 4
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def find(self, key: str) -> FoundSource:
        """Return the source of a key. Raise NotHere."""
        return self.once(("found", key), lambda: self._find(key))

    def once(self, key: tuple[Any, ...], make: Callable[[], R]) -> R:
        """Return the result of `make`, computed at the first call with this key."""
        if key not in self._known:
            self._known[key] = make()
        found: R = self._known[key]
        return found

    def rows(self) -> pd.DataFrame:
        """Return the challenge's rows, `pairs.frame`."""
        dataset = self.find("train").id
        return self.once(("rows",), lambda: self._read(lambda db: pairs.frame(db, dataset)))

    def index(self) -> RowIndex:
        """Return the challenge's rows as codes."""
        return self.once(("index",), lambda: RowIndex.of_frame(self.rows()))

    def run(self, key: str) -> Run:
        """Return the run of a source."""
        name = self.find(key).id
        return self._read(lambda db: runs.find_predicting(db, name))

    def run_rows(self, key: str) -> RunRows:
        """Return the rows of a run, as scored."""
        name = self.find(key).id
        return self.once(("run rows", key), lambda: self._read(lambda db: run_scores.load_scored_rows(db, name)))

    def predictions(self, key: str) -> pd.DataFrame:
        """Return the rows of a run, `predictions.frame`."""
        name = self.find(key).id
        return self.once(("predictions", key), lambda: self._read(lambda db: predictions.frame(db, name)))

    def read(self, ask: Callable[[Cursor], R]) -> R:
        """Return the result of `ask` on the store."""
        return self._read(ask)

    def space(self, name: str) -> Space:
        """Return a space in KINDS over the challenge's symbols, built in memory. Raise MissingPackage without its encoder."""
        kind, pack = KINDS[name]
        source = self.find(pack)

        def build() -> Space:
            built = self.build_space(kind, source.id, source.sha256 or "")
            return space_over(built, self.index().symbols)

        return self.once(("space", name), build)

    def _read(self, ask: Callable[[Cursor], R]) -> R:
        with self.store.read() as db:
            return ask(db)

    def _find(self, key: str) -> FoundSource:
        wanted = self.files[key]
        with self.store.read() as db:
            found = _find_by_content(db, wanted) or _find_by_name(db, wanted)
        if found is None:
            raise NotHere(f"{wanted.file} is not in this workspace; try: {wanted.get}")
        return found


def _find_by_content(db: Cursor, wanted: SourceFile) -> FoundSource | None:
    for sha256 in wanted.sha256:
        if wanted.kind == "pack":
            pack = next((pack.name for pack in spaces.list_packs(db) if pack.sha256 == sha256), None)
        else:
            record = imports.by_content(db, sha256)
            pack = None if record is None else record.run if wanted.kind == "run" else record.dataset
        if pack is not None:
            return FoundSource(pack, sha256, is_published=True)
    return None


def _find_by_name(db: Cursor, wanted: SourceFile) -> FoundSource | None:
    known: Sequence[tuple[str, str, str | None]]
    if wanted.kind == "pack":
        known = [(pack.name, pack.name, pack.sha256) for pack in spaces.list_packs(db)]
    elif wanted.kind == "run":
        known = [(run.name, run.id, None) for run in runs.list_predicting(db)]
    else:
        known = [(dataset.name, dataset.id, None) for dataset in datasets.list_all(db)]
    return next((FoundSource(key, sha256, False) for name, key, sha256 in known if name == wanted.name), None)
