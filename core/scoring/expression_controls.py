"""What a gene is like in control cells, beside a run on a dataset that was made of cells: its mean, detection and variance.

Effects are easier to find in genes with many counts, so that these alone predict which pairs were called. None sees a label.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from core.scoring.controls import Control, score_control
from core.scoring.run_scores import RunRows
from core.stats.scores_and_labels import Scores

CONTROLS: Final = {
    "mean": ("expression-only", "the mean expression of the gene in control cells"),
    "detected": ("detection-only", "the share of control cells in which the gene is seen"),
    "variance": ("variance-only", "the variance of the gene between control cells"),
}
_READ = "{}: the higher, the likelier an effect, and the likelier down; it sees no label"


def control_expression(rows: RunRows, genes: pd.DataFrame | None) -> tuple[Control, ...]:
    """Return the controls of a run. genes: gene, mean, detected, variance; None for a dataset that was not made of cells.

    A gene that the table lacks has the median.
    """
    if genes is None:
        return ()
    symbols = np.array(rows.index.symbols, dtype=object)[rows.gene]
    found = genes.set_index("gene").reindex(symbols)
    controls = []
    for column, (name, about) in CONTROLS.items():
        value = found[column].fillna(genes[column].median()).to_numpy(dtype=np.float64)
        controls.append(score_control(rows, name, _READ.format(about), Scores(value, -value)))
    return tuple(controls)
