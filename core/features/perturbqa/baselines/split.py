"""All baselines of one split: without biology, with knowledge, and published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from core.base.result import UNMARKED, Figure, LabelMarks, Table, hidden
from core.base.texts import number_text
from core.features.perturbqa.baselines.published_scores import PublishedScore, load_published_scores
from core.features.perturbqa.baselines.table import BASELINES, Reach
from core.scoring.baselines import Baseline, BaselineScore
from core.scoring.sentences import TWO_WAY, interval_text
from core.stats.delong import Estimate

QUESTIONS: Mapping[str, Literal["de", "dir"]] = {"DE": "de", "DIR": "dir"}


@dataclass(frozen=True, slots=True)
class SplitBaselines:
    """All baselines of a split, those without biology first.

    training: the name of the training rows' dataset. rows: of the split. coverage: by kinds of
    knowledge; none for the training split, whose rows would be predicted from their own labels.
    sources: of the knowledge. published: published scores on the cell line. marks: of the labels.
    """

    dataset: str
    split: str
    training: str
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
        whose = (
            "" if self.training == self.dataset else f", from the training rows of {self.training}"
        )
        rows = f"{self.dataset}, split {self.split}, {self.rows:,} labelled rows{whose}"
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
        """Return the scores by gene, beside published ones of similar methods."""
        lines = []
        for name, question in QUESTIONS.items():
            published = {
                each.beside: getattr(each, question)
                for each in self.published
                if getattr(each, question) is not None
            }
            for each in self.baselines:
                score: BaselineScore | None = getattr(each, question)
                if score is not None and score.genes:
                    about = f"{each.note or ''} {score.genes:,} genes with both classes".strip()
                    shown = {**score.macro.shown.columns, "chosen": each.name in BASELINES}
                    lines.append(
                        {
                            "question": name,
                            "name": each.name,
                            "kind": "here",
                            "about": about,
                            **shown,
                        }
                    )
                    if each.name in published:
                        shown = {"estimate": published[each.name], "chosen": False}
                        lines.append(
                            {
                                "question": name,
                                "name": f"{each.name}, published",
                                "kind": "public",
                                "about": "",
                                **shown,
                            }
                        )
        values = {
            "table": pd.DataFrame(lines).assign(n=math.nan),
            "title": "macro AUROC by gene",
            "by": "question",
        }
        return Figure("core.plots.scores:figure", values, self.sentence) if lines else None


def _scores(each: Baseline) -> dict[str, Any]:
    line: dict[str, Any] = {}
    for name, key in QUESTIONS.items():
        score: BaselineScore | None = getattr(each, key)
        line |= {
            f"{name} by gene": _macro(score),
            f"{name} pooled": None if score is None else score.micro,
        }
        line[f"genes, {name}"] = None if score is None else score.genes
    return line


def _macro(score: BaselineScore | None) -> Estimate | None:
    return None if score is None or not score.genes else score.macro


def _line(each: Baseline) -> dict[str, Any]:
    some = each.on_covered
    return {
        "name": each.name,
        **_scores(each),
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
