"""Samples of texts, the texts themselves, and people's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.ui.loaders.cache import cache_by, from_store, reading

if TYPE_CHECKING:
    import pandas as pd

samples_of = cache_by("run:{1}", "labels")(from_store(rubric_tables.samples))
labels_of = cache_by("run:{1}", "labels")(from_store(rubric_tables.labels))


@cache_by("run:{0}", entries=4, shared=True)
def texts_by_place(
    run: str, rubric: Rubric, pair_ids: Sequence[str]
) -> Mapping[tuple[str, int], Mapping[str, str]]:
    """Return (pair_id, seq) → pert, gene, stage, role, content, for the texts of these rows that a
    rubric asks about."""
    with reading() as db:
        found: pd.DataFrame = rubric_tables.texts(db, run, rubric, pair_ids)
    columns = found[["pert", "gene", "stage", "role", "content"]].to_dict("records")
    keys = zip(found["pair_id"], found["seq"].astype(int), strict=True)
    return {
        key: {str(name): str(value) for name, value in row.items()}
        for key, row in zip(keys, columns, strict=True)
    }
