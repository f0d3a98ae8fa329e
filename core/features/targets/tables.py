"""The table of a target ranking: every model on the same rows, a random ranking, the ceiling, and
the published values."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

from core.base.fields.record import option_of
from core.base.result import Figure, Table, hidden, inline
from core.base.texts import estimate_text, number_text
from core.features.targets.actions import RankingFolder
from core.features.targets.evaluate import ALL_GENES, Evaluation, EvaluationRequest
from core.features.targets.metrics import MRR
from core.features.targets.splits import PARTS

Record = Mapping[str, Any]
SOURCE: Final = "the published comparison of target rankings on the screen of Norman et al. 2019"
NOT_COMPARABLE: Final = (
    (
        "The transformer (scGPT) was scored on 5,369 single cells of the compositional split,"
        " without a mask; the three others on 38 averaged conditions of the hard split, with a"
        " mask. So the columns answer different questions."
    ),
    (
        "In the hard split, 17 of 38 test conditions perturb no trained gene. A model that ranks"
        " only trained genes reaches at most 21/38 = .5526 relevant hits, 14/38 = .3684 recall and"
        " 7/38 = .1842 exact hits. xgboost reaches these values at k = 40."
    ),
    (
        "Compare our rows with published ones only for the same cells, split, mask and unit. The"
        " publication does not say how ties are broken."
    ),
)


PUBLISHED: Final[tuple[Record, ...]] = tuple(
    {**row, "k": int(row["k"]) if row["k"] else None, "value": float(row["value"])}
    for row in csv.DictReader(
        Path(__file__).with_name("published_targets.csv").read_text("utf-8").splitlines()
    )
)
REFERENCES: Final = {"random": "random ranking", "ceiling": "ceiling, trained genes only"}
METRICS: Final = {
    "relevant_hit": "relevant hit",
    "exact_hit": "exact hit",
    "recall": "recall",
    MRR: "MRR",
}
MASK_WORDS, UNIT_WORDS = (option_of(EvaluationRequest, name).titles for name in ("mask", "unit"))
WHAT_A_TIE_IS: Final = "Where genes tie, a metric is its expectation over their orders."
SHOWN_K: Final = 10  # of the sentence, and of the order of the curves


@dataclass(frozen=True, slots=True, eq=False)
class TargetTable:
    """One evaluation of a target ranking; without one, what was published and perhaps the ceilings
    of a split.

    ceilings: of models that rank only trained genes, metric → k from which it holds → value. split:
    its name, kind and parts. settings: mask, unit, ks and pool. rows: one for each model, metric
    and k, which is None for MRR. metric: the one to show, None for all.
    """

    ceilings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    name: str = ""
    state: str = ""
    models: tuple[str, ...] = ()
    cells: str = ""
    split: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = inline(default_factory=dict)
    rows: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
    metric: str | None = hidden(default=None)
    published = PUBLISHED
    not_comparable = NOT_COMPARABLE
    json_properties = ("published", "not_comparable")

    @property
    def title(self) -> str:
        """What is shown, and of which ranking."""
        return (
            f"{self.name or 'Published'}:"
            f" {METRICS[self.metric] if self.metric else 'target ranking'}"
        )

    @property
    def sentence(self) -> str:
        """The model with the highest value of the metric, beside a random ranking and the
        ceiling."""
        if not self.rows:
            return "No model is evaluated here: the published values stand alone."
        metric = self.metric or MRR
        k = None if metric == MRR else SHOWN_K
        rows = [row for row in self._rows_of(metric) if row["k"] == k]
        best = max(rows, key=lambda row: row["estimate"])
        references = ", ".join(
            f"{words} {number_text(best[column])}" for column, words in REFERENCES.items()
        )
        return (
            f"{best['model']} has the highest {metric_text(metric, k)}, {_interval_text(best)}"
            f" ({references})."
        )

    @property
    def scope(self) -> str:
        """What the evaluation scored."""
        if not self.rows:
            return ""
        counts = f"{self.rows[0]['n']:,} rankings of {self.rows[0]['conditions']:,} conditions"
        split = f"Split {self.split['name']} · {evaluation_title(self.settings)}"
        return f"{split} · {counts} · 95% intervals by condition. {WHAT_A_TIE_IS}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """The ceilings, why the published values are no reference, and notes on the cells."""
        steps = "; ".join(
            f"{name} {', '.join(f'{v} from k = {k}' for k, v in by_k.items())}"
            for name, by_k in self.ceilings.items()
        )
        ceilings = f"Ceilings of models that rank only trained genes, over conditions: {steps}."
        return (*([ceilings] if steps else []), *NOT_COMPARABLE, *self.notes)

    def tables(self) -> tuple[Table, ...]:
        """Return a table for each metric, last the random level and the ceiling, and the published
        values."""
        ours, published = [], []
        for metric in [self.metric] if self.metric else METRICS:
            rows = self._rows_of(metric)
            values = [(row["model"], row["k"], _interval_text(row)) for row in rows]
            for column, words in REFERENCES.items():
                values += [(words, row["k"], row[column]) for row in rows]
            if values:
                ours.append(Table(f"{METRICS[metric]} of every model", _by_k(metric, values)))
            title = f"Published: {METRICS[metric]}, from {SOURCE}, without intervals"
            known = (
                (row["model"], row["k"], row["value"])
                for row in PUBLISHED
                if row["metric"] == metric
            )
            published.append(Table(title, _by_k(metric, known)))
        return (*ours, *published)

    def _rows_of(self, metric: str) -> list[Record]:
        return [row for row in self.rows if row["metric"] == metric]

    def figure(self) -> Figure | None:
        """Return the curves of the metric by k, the best model at SHOWN_K first, then the
        references; MRR has none."""
        if not self.rows or self.metric in (None, MRR):
            return None
        rows = self._rows_of(self.metric)
        best = {row["model"]: row["estimate"] for row in rows if row["k"] == SHOWN_K}
        curves = [
            {"curve": row["model"], "x": str(row["k"]), "y": row["estimate"]}
            | {"low": row["low"], "high": row["high"]}
            for row in sorted(rows, key=lambda row: -best[row["model"]])
        ]
        curves += [
            {"curve": words, "x": str(row["k"]), "y": row[column]}
            for column, words in REFERENCES.items()
            for row in rows
            if row["model"] == rows[0]["model"]
        ]
        values = {
            "table": pd.DataFrame(curves),
            "x_title": "k, number of genes at the top of a ranking",
            "y_title": f"{METRICS[self.metric]} in the first k",
            "references": [*REFERENCES.values()],
        }
        return Figure("core.plots.drawing:figure", values, self.sentence)


def table_of(folder: RankingFolder, saved: Evaluation, metric: str | None = None) -> TargetTable:
    """Return the table of a saved evaluation. Raise NotFound before the cells are read."""
    split = folder.split()
    rows: list[Any] = saved.table.to_dict("records")
    return TargetTable(
        saved.ceilings,
        folder.key,
        folder.status().state,
        folder.saved_models(),
        folder.request().source.name,
        {
            "name": split.name,
            "kind": split.kind,
            **{part: len(getattr(split, part)) for part in PARTS},
        },
        saved.settings,
        tuple({**row, "k": None if pd.isna(row["k"]) else int(row["k"])} for row in rows),
        folder.data().notes,
        metric,
    )


def evaluation_title(settings: Mapping[str, Any]) -> str:
    """Return a title that distinguishes an evaluation from others of the same ranking, from
    `Evaluation.settings`."""
    pool = "" if settings["pool"] == ALL_GENES else f", within {settings['pool']}"
    return f"{UNIT_WORDS[settings['unit']]}, {MASK_WORDS[settings['mask']]}{pool}"


def metric_text(metric: str, k: int | None) -> str:
    """Return the name of a metric, such as "recall@5" or "MRR"."""
    return METRICS[metric] if k is None else f"{METRICS[metric]}@{k}"


def _by_k(metric: str, values: Iterable[tuple[str, int | None, Any]]) -> tuple[Record, ...]:
    """Return a row for each model, with a column for each k. values: model, k, and what stands
    there."""
    rows: dict[str, dict[str, Any]] = {}
    for model, k, value in values:
        rows.setdefault(model, {"model": model})[metric_text(metric, k)] = value
    return tuple(rows.values())


def _interval_text(row: Record) -> str:
    return estimate_text(row["estimate"], row["low"], row["high"])
