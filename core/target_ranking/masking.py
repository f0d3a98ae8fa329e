"""Masking: genes whose expression a model may not see when it ranks, since a knocked-down gene betrays itself."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.target_ranking.expression import Expression

Mask = Literal["none", "strongest", "targets"]
STRONGEST: Final = 10  # genes of the mask "strongest"
MASKS: Final[dict[Mask, str]] = {
    "none": "no gene is masked",
    "strongest": f"the {STRONGEST} genes that differ most from control cells are masked, in every profile its own",
    "targets": "every gene that is perturbed in any condition is masked",
}


def read_mask(name: str) -> Mask:
    """Returns the name of a mask. Raises InputError for another."""
    found = next((mask for mask in MASKS if mask == name), None)
    if found is None:
        raise InputError(f"mask: got {name!r}, expected {', '.join(MASKS)}")
    return found


def mask_expression(x: Expression, control: Expression, mask: Mask, perturbed: Collection[int]) -> Expression:
    """Returns expression of shape (n_rows, n_genes) in which masked genes have the value of the control cells.

    control: of the same shape. perturbed: positions of the genes that are perturbed in any condition of the split, which the
    mask "targets" takes; those of the row's own condition alone would give it away. Of genes that differ equally, the first are
    masked.
    """
    if mask == "none":
        return x
    hidden = np.zeros(x.shape, dtype=np.bool_)
    if mask == "targets":
        hidden[:, sorted(perturbed)] = True
    else:
        np.put_along_axis(hidden, _strongest(x, control), True, axis=1)
    return np.where(hidden, control, x)


def _strongest(x: Expression, control: Expression) -> NDArray[np.intp]:
    return np.argsort(-np.abs(x - control), axis=1, kind="stable")[:, :STRONGEST]
