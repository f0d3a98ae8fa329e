"""The expression of cells and their conditions, in memory. Models are trained on it and rank genes from it.

Names of conditions: "ctrl" for control cells, "A" for one perturbed gene, "A+B" for several.

Masking hides the expression of genes from a model when it ranks, because a knocked-down gene reveals itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from core.cells.anndata_file import COUNTS_PER_CELL
from core.errors import InputError

CONTROL = "ctrl"
SEPARATOR = "+"
SHOWN = 5  # number of names in a message; the rest is counted
Expression = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionSet:
    """Cells with their conditions.

    x: of shape (n_cells, n_genes), float32, log1p of counts per 10,000. genes: unique symbols. conditions: of shape
    (n_cells,), canonical (see `core.target_ranking.expression`). batches: of shape (n_cells,), one name for all without batches.
    Raise InputError for other shapes, and for a condition with an unknown gene.
    """

    x: Expression
    genes: tuple[str, ...]
    conditions: NDArray[np.str_]
    batches: NDArray[np.str_]

    def __post_init__(self) -> None:
        n_cells, n_genes = self.x.shape
        if (len(self.conditions), len(self.batches), len(self.genes)) != (n_cells, n_cells, n_genes):
            got = f"{len(self.conditions):,} conditions, {len(self.batches):,} batches, {len(self.genes):,} genes"
            raise InputError(f"expression of shape {self.x.shape}: got {got}; expected one for each cell and column")
        require_targets(self.genes, np.unique(self.conditions))

    def targets_of(self, condition: str) -> tuple[int, ...]:
        """Return the positions of a condition's perturbed genes; () for control cells. Raise InputError for an unknown gene."""
        positions = {gene: at for at, gene in enumerate(self.genes)}
        require_targets(self.genes, [condition])
        return tuple(positions[gene] for gene in targets_in(condition))

    @property
    def is_control(self) -> NDArray[np.bool_]:
        """Flags of the control cells, of shape (n_cells,)."""
        return np.asarray(self.conditions == CONTROL)

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The conditions of perturbed cells, sorted."""
        return tuple(str(name) for name in np.unique(self.conditions) if name != CONTROL)

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the cells at these positions or flags."""
        return type(self)(self.x[rows], self.genes, self.conditions[rows], self.batches[rows])

    def of_conditions(self, conditions: Iterable[str], *, controls: bool = True) -> Self:
        """Return the cells of these conditions, with the control cells unless `controls` is False."""
        wanted = np.isin(self.conditions, [*conditions, *([CONTROL] if controls else [])])
        return self.take(wanted)


def require_targets(genes: Iterable[str], conditions: Iterable[str]) -> None:
    """Raise InputError if a condition perturbs a gene that is not among the genes."""
    known = set(genes)
    missing = sorted({gene for condition in conditions for gene in targets_in(condition)} - known)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise InputError(
            f"perturbed genes {', '.join(missing[:SHOWN])}{more}: not among the {len(known):,} genes measured, so they could "
            "not be ranked; expected every perturbed gene there"
        )


def normalise(counts: NDArray[Any]) -> Expression:
    """Return log1p of counts per 10,000, of the shape (n_cells, n_genes) of the counts; a cell without counts is all 0."""
    totals = counts.sum(axis=1, dtype=np.float64, keepdims=True)
    scale = np.divide(COUNTS_PER_CELL, totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(np.log1p(counts * scale), dtype=np.float32)


def targets_in(condition: str) -> tuple[str, ...]:
    """Return the perturbed genes of a canonical condition; empty for control cells."""
    return () if condition == CONTROL else tuple(condition.split(SEPARATOR))


def parse_condition(text: str, control: str = CONTROL) -> str:
    """Return the canonical name of a condition: symbols sorted and joined by "+"; "ctrl" for control cells.

    control: the name of control cells, alone or as a part, as in "A+ctrl". Raise InputError for an empty part and for a
    repeated gene.
    """
    stripped = text.strip()
    if stripped in (control, CONTROL):
        return CONTROL
    parts = [part.strip() for part in stripped.split(SEPARATOR)]
    if not all(parts):
        raise InputError(f"condition {text!r}: has an empty part, expected genes joined by +, such as A+B or A+{CONTROL}")
    symbols = sorted(part for part in parts if part not in (control, CONTROL))
    if len(set(symbols)) < len(symbols):
        raise InputError(f"condition {text!r}: names a gene twice, expected every gene once")
    return SEPARATOR.join(symbols) or CONTROL


def parse_conditions(texts: Sequence[str], control: str = CONTROL) -> list[str]:
    """Return the canonical name of every condition; each distinct text is parsed once."""
    known = {text: parse_condition(text, control) for text in dict.fromkeys(texts)}
    return [known[text] for text in texts]


Mask = Literal["none", "strongest", "targets"]
STRONGEST: Final = 10  # number of genes in the mask "strongest"
MASKS: Final[dict[Mask, str]] = {
    "none": "no gene is masked",
    "strongest": f"in every profile, the {STRONGEST} genes that differ most from control cells are masked",
    "targets": "every gene that is perturbed in any condition is masked",
}


def read_mask(name: str) -> Mask:
    """Return the name of a mask. Raise InputError for an unknown one."""
    found = next((mask for mask in MASKS if mask == name), None)
    if found is None:
        raise InputError(f"mask: got {name!r}, expected {', '.join(MASKS)}")
    return found


def mask_expression(x: Expression, control: Expression, mask: Mask, perturbed: Collection[int]) -> Expression:
    """Return expression of shape (n_rows, n_genes), with masked genes set to the value of the control cells.

    control: of the same shape. perturbed: positions of the genes perturbed in any condition of the split, used by the mask
    "targets"; masking only those of the row's own condition would reveal it. If genes differ equally, the first are masked.
    """
    if mask == "none":
        return x
    hidden = np.zeros(x.shape, dtype=np.bool_)
    if mask == "targets":
        hidden[:, sorted(perturbed)] = True
    else:
        np.put_along_axis(hidden, np.argsort(-np.abs(x - control), axis=1, kind="stable")[:, :STRONGEST], True, axis=1)
    return np.where(hidden, control, x)
