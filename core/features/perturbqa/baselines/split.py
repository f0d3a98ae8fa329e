"""All baselines of one split: without biology, with knowledge, and published."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from core.base.result import UNMARKED, Figure, LabelMarks, Table, hidden
from core.base.texts import number_text
from core.base.types import TRAIN
from core.features.perturbqa.baselines.material import (
    AttentionGrid,
    make_material,
    read_gene_knowledge,
)
from core.features.perturbqa.baselines.table import (
    Reach,
    measure_coverage,
    score_baselines,
)
from core.runs import packs
from core.runs.component_loader import control_expression_of
from core.runs.workspace import Workspace
from core.scoring.baselines import Baseline, BaselineScore, dataset_baselines
from core.scoring.sentences import TWO_WAY, interval_text
from core.stats.delong import Estimate
from core.store import datasets, pairs
from core.transfer.row_index import RowIndex

QUESTIONS: Mapping[str, Literal["de", "dir"]] = {"DE": "de", "DIR": "dir"}


@dataclass(frozen=True, slots=True)
class SplitBaselines:
    """All baselines of a split, those without biology first.

    rows: of the split. coverage: by kinds of knowledge; none for the training split, whose rows
    would be predicted from their own labels.
    sources: of the knowledge. published: published scores on the cell line. marks: of the labels.
    """

    dataset: str
    split: str
    rows: int
    baselines: tuple[Baseline, ...]
    coverage: tuple[Reach, ...]
    sources: tuple[str, ...]
    published: tuple[PublishedScore, ...]
    marks: LabelMarks = hidden(default=UNMARKED)
    json_properties = ("label_marks",)

    @property
    def label_marks(self) -> dict[str, Any]:
        """How far the labels can be trusted."""
        return self.marks.json_value

    @property
    def title(self) -> str:
        """What simple methods score."""
        return f"Baselines of {self.dataset}"

    @property
    def scope(self) -> str:
        """Which rows are scored, from which they are predicted, and how."""
        rows = f"{self.dataset}, split {self.split}, {self.rows:,} labelled rows"
        return f"{rows}; macro AUROC by gene, 95% intervals {TWO_WAY}"

    @property
    def sentence(self) -> str:
        """The baseline with the highest score, for each question."""
        best = []
        for title, question in QUESTIONS.items():
            scores = [
                (each.name, score)
                for each in self.baselines
                if (score := getattr(each, question)) and score.genes
            ]
            name, score = max(scores, key=lambda pair: pair[1].macro.value, default=("", None))
            if score is not None:
                best.append(f"{title} {interval_text(score.macro.shown)} ({name})")
        if not best:
            return "No gene has labels of both classes."
        return f"Highest AUROC by gene: {', '.join(best)}; the highest of several is optimistic."

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the labels, the knowledge packs and the published numbers leave open."""
        covered = "; ".join(each.words for each in self.coverage)
        known = (
            f"Covered by the knowledge packs: {covered}. A row that a baseline does not cover gets"
            " the base rate."
        )
        none = "This workspace has no knowledge pack with a network or descriptions."
        common = load_published_scores().common if self.published else ""
        return tuple(filter(None, (self.marks.sentence, known if covered else none, common)))

    def tables(self) -> tuple[Table, ...]:
        """Return a line for each baseline, and for each published method."""
        tables = (
            Table("Baselines", tuple(map(_line, self.baselines))),
            Table("Published, macro AUROC by gene", tuple(map(_published_line, self.published))),
        )
        return tuple(table for table in tables if table.rows)

    def figure(self) -> Figure | None:
        """Return None: the tables hold every score."""
        return None


def _macro(score: BaselineScore | None) -> Estimate | None:
    return None if score is None or not score.genes else score.macro


def _line(each: Baseline) -> dict[str, Any]:
    some = each.on_covered
    line: dict[str, Any] = {}
    for name, key in QUESTIONS.items():
        score: BaselineScore | None = getattr(each, key)
        line |= {
            f"{name} by gene": _macro(score),
            f"{name} pooled": None if score is None else score.micro,
        }
        line[f"genes, {name}"] = None if score is None else score.genes
    return {
        "name": each.name,
        **line,
        "rows covered": None if some is None else f"{some.rows:,} of {some.of:,}",
        **{
            f"{name} on these": None if some is None else _macro(getattr(some, key))
            for name, key in QUESTIONS.items()
        },
        "how to read it": f"not computed: {each.lacks}" if each.lacks else each.note,
    }


def _published_line(each: PublishedScore) -> dict[str, str | None]:
    scores = {f"{name} by gene": getattr(each, key) for name, key in QUESTIONS.items()}
    texts = {
        name: None if score is None else number_text(score, ".2f") for name, score in scores.items()
    }
    return {"method": each.method, **texts, "beside": each.beside, "difference": each.differs}


FILE = Path(__file__).with_name("published_scores.toml")


@dataclass(frozen=True, slots=True)
class PublishedScore:
    """A published method on one cell line.

    de, dir: macro AUROCs by gene, None if not published. beside: the name of the most similar
    baseline here, None for none. differs: a description of how the two differ.
    """

    method: str
    de: float | None
    dir: float | None
    beside: str | None
    differs: str


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """All published scores by cell line, in lower case. common: remarks on every comparison."""

    lines: dict[str, tuple[PublishedScore, ...]]
    common: str

    def of(self, dataset: str) -> tuple[PublishedScore, ...]:
        """Return the published scores of a dataset by its name; empty unless it is a published cell
        line."""
        return self.lines.get(dataset.casefold(), ())


@cache
def load_published_scores() -> PublishedTable:
    """Read the file of published scores."""
    content = tomllib.loads(FILE.read_text("utf-8"))
    methods, names = content["methods"], content["lines"]

    def score(method: dict[str, list[float]], question: str, at: int) -> float | None:
        return method[question][at] if question in method else None

    return PublishedTable(
        {
            name: tuple(
                PublishedScore(
                    each["name"],
                    score(each, "de", at),
                    score(each, "dir", at),
                    each["beside"] or None,
                    each["differs"],
                )
                for each in methods
            )
            for at, name in enumerate(names)
        },
        content["common"],
    )


@dataclass(frozen=True, slots=True)
class BaselineRequest:
    """A request: the labelled rows of a split of a dataset, by name or id.

    attention: see `Material`.
    """

    dataset: str
    split: str = "test"
    attention: AttentionGrid | None = None


def compute_baselines(
    workspace: Workspace,
    request: BaselineRequest,
    progress: Callable[[float], object] = lambda _: None,
) -> SplitBaselines:
    """Return the baselines of a split. Raise NotFound, and InputError if the split has no labelled
    row."""
    with workspace.store.read() as db:
        scored = datasets.find(db, request.dataset)
        frame = pairs.frame(db, scored.id)
    baselines = dataset_baselines(frame, request.split, control_expression_of(workspace, scored.id))
    coverage: tuple[Reach, ...] = ()
    sources: tuple[str, ...] = ()
    if request.split != TRAIN:
        index = RowIndex.of_frame(frame)
        hashes = packs.pack_hashes(workspace, scored.organism, or_another=True)
        genes = read_gene_knowledge(packs.read_packs(workspace, hashes), index.symbols)
        splits = frame["split"].to_numpy(dtype=object)
        material = make_material(index, splits, request.split, genes, request.attention)
        baselines = (*baselines, *score_baselines(material, progress))
        coverage, sources = measure_coverage(material), genes.sources
    return SplitBaselines(
        scored.name,
        request.split,
        int(((frame["split"] == request.split) & frame["label"].notna()).sum()),
        baselines,
        coverage,
        sources,
        load_published_scores().of(scored.name),
        scored.marks,
    )
