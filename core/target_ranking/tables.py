"""Tables of target rankings for people and for programs: ours, the published one, and what prevents a comparison."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd

from core.fields.record import option_of
from core.target_ranking.ceilings import Ceilings
from core.target_ranking.evaluate import STRATA, EvaluationRequest, by_model
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
_SCORED: Final = ("5,369 cells, compositional split, no mask", *["38 conditions, hard split, masked"] * 3)
NOT_COMPARABLE: Final = (
    "The transformer (scGPT) was scored on 5,369 single cells of the compositional split, without a mask; the three others on 38 "
    "averaged conditions of the hard split, with a mask. So the columns answer different questions.",
    "In the hard split, 17 of 38 test conditions perturb no trained gene. A model that ranks only trained genes reaches at "
    "most 21/38 = .5526 relevant hits, 14/38 = .3684 recall and 7/38 = .1842 exact hits. xgboost reaches these values at k = "
    "40.",
    "Compare our rows with published ones only for the same cells, split, mask and unit. The publication does not say how ties "
    "are broken.",
)


REFERENCES: Final = {"random": "random ranking", "ceiling": "ceiling, trained genes only"}
METRICS: Final = {"relevant_hit": "relevant hit", "exact_hit": "exact hit", "recall": "recall", MRR: "MRR"}
MASK_WORDS, UNIT_WORDS = (option_of(EvaluationRequest, name).titles for name in ("mask", "unit"))
WHAT_A_TIE_IS: Final = "Where genes tie, a metric is its expectation over their orders."


def metric_text(metric: str, k: float | None) -> str:
    """Return the name of a metric, such as "recall@5" or "MRR"."""
    return METRICS[metric] if k is None or k != k else f"{METRICS[metric]}@{k:.0f}"


def table_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one JSON record for each row; k is a whole number, None for mrr."""
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    return [row | {"k": None if row["k"] != row["k"] else int(row["k"])} for row in rows]


def _wide(rows: pd.DataFrame, texts: Any, metric: str) -> pd.DataFrame:
    """Return texts in one row for each model, with a column for each k."""
    names = [metric_text(metric, k) for k in rows["k"]]
    long = pd.DataFrame({"model": rows["model"], "name": names, "text": texts})
    wide = long.pivot(index="model", columns="name", values="text")
    return wide.loc[[*dict.fromkeys(long["model"])], [*dict.fromkeys(names)]].rename_axis(columns=None).reset_index()


def wide_table(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one row for each model, a column of text for each k (for mrr one, MRR); last the random level and the ceiling."""
    rows = table[(table["metric"] == metric) & (table["stratum"] == "all")]
    parts = [_wide(rows, rows.apply(_interval_text, axis=1), metric)]
    first = rows.drop_duplicates("k")
    for column, words in REFERENCES.items():
        parts.append(_wide(first.assign(model=words), first[column].map(number_text), metric))
    return pd.concat(parts, ignore_index=True)


def strata_table(table: pd.DataFrame, metric: str, k: int | None) -> pd.DataFrame:
    """Return one row for each stratum with conditions: their number, each model's value, and the random level, as text."""
    lines = []
    for stratum, words in STRATA.items():
        rows = by_model(table, metric, k, stratum)
        if len(rows):
            values = dict(zip(rows["model"], rows.apply(_interval_text, axis=1), strict=True))
            first = rows.iloc[0]
            level = {REFERENCES["random"]: number_text(first["random"])}
            lines.append({"test conditions": words, "conditions": int(first["conditions"]), **values, **level})
    return pd.DataFrame(lines)


def _interval_text(row: Any) -> str:
    return estimate_text(row.estimate, row.low, row.high)


def wide_published_table(metric: str) -> pd.DataFrame:
    """Return the published values of a metric: model, a column of text for each k, and what was scored."""
    table = published_table()
    rows = table[table["metric"] == metric]
    wide = _wide(rows, rows["value"].map(lambda value: number_text(value, ".4f")), metric)
    return wide.assign(scored=wide["model"].map(dict(zip(MODELS, _SCORED, strict=True))))


def published_table() -> pd.DataFrame:
    """Return one row for each metric, k and model; columns: model, metric, k (NaN for mrr), value, scored."""
    by_k = [(metric, k, row) for metric, rows in _AT_K.items() for k, row in rows.items()]
    lines = [
        (model, metric, k, float(value), scored)
        for metric, k, row in [*by_k, (MRR, float("nan"), _MRR)]
        for model, value, scored in zip(MODELS, row, _SCORED, strict=True)
    ]
    return pd.DataFrame(lines, columns=["model", "metric", "k", "value", "scored"])


def evaluation_title(saved: SavedEvaluation) -> str:
    """Return a title that distinguishes an evaluation from others of the same ranking."""
    facts = saved.facts
    pool = "" if facts["pool"] == ALL_GENES else f", within {facts['pool']}"
    return f"{UNIT_WORDS[facts['unit']]}, {MASK_WORDS[facts['mask']]}{pool}"


def evaluation_text(saved: SavedEvaluation, split_name: str) -> str:
    """Describe what an evaluation scored."""
    first = saved.table[saved.table["stratum"] == "all"].iloc[0]
    counts = f"{first['n']:,} rankings of {first['conditions']:,} conditions"
    return f"Split {split_name} · {evaluation_title(saved)} · {counts} · 95% intervals by condition. {WHAT_A_TIE_IS}"


def table_text(saved: SavedEvaluation, split_name: str) -> str:
    """Return an evaluation as text for a terminal, with intervals, the random level and ceilings."""
    tables = [wide_table(saved.table, metric) for metric in METRICS]
    parts = [_align(table) for table in (*tables, strata_table(saved.table, MRR, None))]
    return "\n\n".join([evaluation_text(saved, split_name), *parts])


def published_text() -> str:
    """Return the published table as text for a terminal, with notes on comparability."""
    return "\n\n".join(["published", *(_align(wide_published_table(metric)) for metric in METRICS), *NOT_COMPARABLE])


def ceilings_text(ceilings: Ceilings) -> str:
    """Return ceilings in words; each value holds from its k on."""
    parts = [
        f"{metric} {', '.join(f'{value} from k = {k}' for k, value in steps.items())}"
        for metric, steps in ceilings.steps().items()
    ]
    return f"Ceilings of models that rank only trained genes, over conditions: {'; '.join(parts)}."


def _align(table: pd.DataFrame) -> str:
    return str(table.to_string(index=False, justify="left"))
