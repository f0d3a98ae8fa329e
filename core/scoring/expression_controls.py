"""What a gene is like in control cells, beside a run on a dataset that was made of cells: its mean, detection and variance.

Effects are easier to find in genes with many counts, so that these alone predict which pairs were called. None sees a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from core.scoring.controls import RunControls, score_control
from core.scoring.run_scores import RunRows
from core.stats.scores_and_labels import Scores

CONTROLS: Final = {
    "mean": ("expression-only", "the mean expression of the gene in control cells"),
    "detected": ("detection-only", "the share of control cells in which the gene is seen"),
    "variance": ("variance-only", "the variance of the gene between control cells"),
}
_READ = "{}: the higher, the likelier an effect, and the likelier down; it sees no label"


def add_expression(found: RunControls, rows: RunRows, genes: pd.DataFrame | None) -> RunControls:
    """The controls of a run with those of expression. genes: gene, mean, detected, variance; None for a dataset that was not made
    of cells, which has none of these."""
    if genes is None:
        return found
    symbols = np.array(rows.index.symbols, dtype=object)[rows.gene].tolist()
    own = (score_control(rows, name, _READ.format(about), scores) for name, about, scores in score_expression(symbols, genes))
    return replace(found, controls=(*found.controls, *own))


def score_expression(symbols: Sequence[str], genes: pd.DataFrame) -> Iterator[tuple[str, str, Scores]]:
    """Name, what it is, and scores of each control of rows with these genes; a gene that the table lacks has the median."""
    found = genes.set_index("gene").reindex(list(symbols))
    for column, (name, about) in CONTROLS.items():
        value = found[column].fillna(genes[column].median()).to_numpy(dtype=np.float64)
        yield name, about, Scores(value, -value)
