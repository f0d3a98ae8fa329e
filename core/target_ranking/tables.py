"""Tables of target rankings for people and for programs: ours, the published one, and the differences that prevent a
comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from core.target_ranking.ceilings import Ceilings
from core.target_ranking.expression import MASKS
from core.target_ranking.metrics import MRR
from core.target_ranking.results import ALL_GENES, SavedEvaluation
from core.texts import estimate_text, number_text

MODELS: Final = ("scGPT", "pca_knn", "random_forest", "xgboost")
SOURCE: Final = "the published comparison of target rankings on the screen of Norman et al. 2019"
_AT_K: Final = {
    "exact_hit": {
        1: (0, 0, 0, 0),
        5: (0.0526, 0.1053, 0.0789, 0.0789),
        10: (0.0963, 0.1053, 0.1316, 0.1053),
        20: (0.2123, 0.1053, 0.1842, 0.1842),
        40: (0.3476, 0.1053, 0.1842, 0.1842),
    },
    "relevant_hit": {
        1: (0.1039, 0.3158, 0.2105, 0.2368),
        5: (0.2922, 0.4211, 0.4737, 0.4211),
        10: (0.4155, 0.4211, 0.5, 0.5),
        20: (0.5731, 0.4211, 0.5, 0.5526),
        40: (0.6828, 0.4211, 0.5263, 0.5526),
    },
    "recall": {
        1: (0.052, 0.1579, 0.1053, 0.1184),
        5: (0.1631, 0.2632, 0.2763, 0.25),
        10: (0.2492, 0.2632, 0.3158, 0.3026),
        20: (0.3927, 0.2632, 0.3421, 0.3684),
        40: (0.5152, 0.2632, 0.3553, 0.3684),
    },
}
_MRR: Final = (0.1975, 0.3602, 0.3232, 0.3323)
_OF_BASELINES: Final = {"unit": "condition", "rows": 38, "split": "hard", "mask": "strongest"}
WORK: Final = {
    "scGPT": {"unit": "cell", "rows": 5369, "split": "compositional", "mask": "none"},
    "pca_knn": _OF_BASELINES,
    "random_forest": _OF_BASELINES,
    "xgboost": _OF_BASELINES,
}
NOT_COMPARABLE: Final = (
    "The transformer (scGPT) was scored on 5,369 single cells of the compositional split, without a mask; the three others on 38 "
    "averaged conditions of the hard split, with a mask. So the columns answer different questions.",
    "In the hard split, 17 of 38 test conditions perturb no trained gene. A model that ranks only trained genes reaches at "
    "most 21/38 = .5526 relevant hits, 14/38 = .3684 recall and 7/38 = .1842 exact hits. xgboost reaches these values at k = "
    "40.",
    "Compare our rows with published ones only for the same cells, split, mask and unit. The publication does not say how ties "
    "are broken.",
)


METRICS: Final = {"relevant_hit": "relevant hit", "exact_hit": "exact hit", "recall": "recall", MRR: "MRR"}
UNIT_WORDS: Final = {"condition": "conditions (cells averaged first)", "cell": "single cells"}
WHAT_A_TIE_IS: Final = "Ties get their mid-rank, and count within k if it is at most k."


def metric_text(metric: str, k: float | None) -> str:
    """Return the name of a metric, such as "recall@5" or "MRR"."""
    return METRICS[metric] if k is None or k != k else f"{METRICS[metric]}@{k:.0f}"


def table_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one JSON record for each row; k is a whole number, None for mrr."""
    records: list[dict[str, Any]] = [{str(name): value for name, value in record.items()} for record in table.to_dict("records")]
    return [record | {"k": None if record["k"] != record["k"] else int(record["k"])} for record in records]


def wide_table(table: pd.DataFrame, metric: str, stratum: str = "all") -> pd.DataFrame:
    """Return one row for each model for a metric: model, a column of text for each k.

    The last two rows are the random level and the ceiling. For mrr there is one column, MRR.
    """
    part = table[(table["metric"] == metric) & (table["stratum"] == stratum)]
    lines = []
    for model, rows in part.groupby("model", sort=False):
        cells = {metric_text(metric, row.k): estimate_text(row.estimate, row.low, row.high) for row in _rows(rows)}
        lines.append({"model": str(model), **cells})
    first = part.drop_duplicates("k")
    for name in ("random", "ceiling"):
        values = {metric_text(metric, row.k): number_text(getattr(row, name)) for row in _rows(first)}
        lines.append({"model": {"random": "random ranking", "ceiling": "ceiling, trained genes only"}[name], **values})
    return pd.DataFrame(lines)


def margin_table(table: pd.DataFrame, metric: str, k: int | None, strata: Mapping[str, str]) -> pd.DataFrame:
    """Return one row for each stratum with conditions: its description, conditions, and each model's margin over random as text.

    strata: stratum → its description, in the order of the rows.
    """
    at_k = table["k"].isna() if k is None else table["k"] == k
    part = table[(table["metric"] == metric) & at_k]
    lines = []
    for stratum, words in strata.items():
        rows = part[part["stratum"] == stratum]
        if len(rows):
            margins = {row.model: estimate_text(row.margin, row.margin_low, row.margin_high, "+.3f") for row in _rows(rows)}
            lines.append({"test conditions": words, "conditions": int(rows["conditions"].iloc[0]), **margins})
    return pd.DataFrame(lines)


def wide_published_table(metric: str) -> pd.DataFrame:
    """Return the published values of a metric: model, a column of text for each k, and a description of what was scored."""
    part = published_table()
    part = part[part["metric"] == metric]
    lines = []
    for model in MODELS:
        values = {metric_text(metric, row.k): number_text(row.value, ".4f") for row in _rows(part[part["model"] == model])}
        work = WORK[model]
        unit = "cells" if work["unit"] == "cell" else "conditions"
        masked = "no mask" if work["mask"] == "none" else "masked"
        lines.append({"model": model, **values, "scored": f"{work['rows']:,} {unit}, {work['split']} split, {masked}"})
    return pd.DataFrame(lines)


def differences(facts: Mapping[str, Any], split_kind: str) -> list[str]:
    """Return sentences on parts of the published table that are not comparable with an evaluation of these facts."""
    found = what_differs(str(facts["unit"]), split_kind, str(facts["mask"]))
    lines = [f"{model} (published): {text}." for model, text in found.items() if text]
    return [*NOT_COMPARABLE, *lines]


def evaluation_text(saved: SavedEvaluation) -> str:
    """Describe what an evaluation scored."""
    rows = saved.table[saved.table["stratum"] == "all"].iloc[0]
    unit = UNIT_WORDS[saved.facts["unit"]]
    pool = "all genes ranked" if saved.facts["pool"] == ALL_GENES else f"ranked within the candidates of {saved.facts['pool']}"
    counts = f"{rows['n']:,} {unit}" + (f" of {rows['conditions']:,} conditions" if saved.facts["unit"] == "cell" else "")
    return f"{counts}, {MASKS[saved.facts['mask']]}, {pool}"


def table_text(saved: SavedEvaluation, split_name: str) -> str:
    """Return an evaluation as text for a terminal, with intervals, the random level and ceilings."""
    parts = [f"split {split_name}: {evaluation_text(saved)}", WHAT_A_TIE_IS]
    parts += [_align(wide_table(saved.table, metric)) for metric in METRICS]
    margins = saved.table[(saved.table["metric"] == MRR)]
    lines = [
        f"{row.model}, {row.stratum} targets ({row.n:,}): MRR "
        f"{estimate_text(row.margin, row.margin_low, row.margin_high, '+.3f')} over random"
        for row in _rows(margins)
    ]
    return "\n\n".join([*parts, "\n".join(lines)])


def published_text() -> str:
    """Return the published table as text for a terminal, with notes on comparability."""
    return "\n\n".join(["published", *(_align(wide_published_table(metric)) for metric in METRICS), *NOT_COMPARABLE])


def ceilings_text(ceilings: Ceilings) -> str:
    """Return ceilings, one line per metric; each value holds from its k on."""
    lines = [
        f"{metric}: " + ", ".join(f"{value} from k = {k}" for k, value in steps.items())
        for metric, steps in ceilings.steps().items()
    ]
    return "\n".join(["ceilings for models that rank only trained genes", *lines])


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows with their columns as attributes, because pandas gives them no types."""
    return table.itertuples(index=False)


def _align(table: pd.DataFrame) -> str:
    return str(table.fillna("").to_string(index=False, justify="left"))


def published_records() -> list[dict[str, Any]]:
    """Return the published table as JSON records."""
    return table_records(published_table())


def published_table() -> pd.DataFrame:
    """Return one row for each metric, k and model; columns: model, metric, k (NaN for mrr), value, unit, rows, split, mask."""
    at_k = [
        (model, metric, k, value)
        for metric, by_k in _AT_K.items()
        for k, values in by_k.items()
        for model, value in zip(MODELS, values, strict=True)
    ]
    mrr = [(model, MRR, None, value) for model, value in zip(MODELS, _MRR, strict=True)]
    table = pd.DataFrame([*at_k, *mrr], columns=["model", "metric", "k", "value"])
    work = pd.DataFrame([{"model": model, **WORK[model]} for model in MODELS])
    return table.merge(work, on="model", how="left", validate="many_to_one").astype({"k": "float64", "value": "float64"})


def what_differs(unit: str, kind: str, mask: str) -> dict[str, str]:
    """Return, for each published model, how its evaluation differs from this unit, split and mask; "" if it does not."""
    ours = {"unit": unit, "split": kind, "mask": mask}
    return {
        model: ", ".join(f"{name} {work[name]}, not {value}" for name, value in ours.items() if work[name] != value)
        for model, work in WORK.items()
    }
