"""Splits of conditions into training, validation and test: from a published file, or drawn with a
seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from core.base.errors import InputError
from core.base.file_io import read_file
from core.base.records import parse
from core.base.texts import list_some
from core.features.targets.expression import CONTROL, parse_condition, targets_in

DrawnKind = Literal["hard", "compositional"]
PARTS: Final = ("train", "validation", "test")
MAX_BYTES: Final = 50_000_000
N_UNSEEN: Final = 16  # genes in the hard split, as published
_TEST_SHARE, _VALIDATION_SHARE = 0.2, 0.1  # shares of the conditions to draw from


@dataclass(frozen=True, slots=True)
class Split:
    """Canonical conditions of each part, sorted, without control cells.

    unseen_genes: perturbed in test conditions only. kind: "file" for a published split, named in
    `source`. seed: of the draw, None if unknown. Raise InputError for a part without conditions, a
    condition that occurs twice, and an unseen gene perturbed in training or validation.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    kind: DrawnKind | Literal["file"]
    unseen_genes: tuple[str, ...] = ()
    seed: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        where = self.name
        for part in PARTS:
            if not getattr(self, part):
                raise InputError(f"{where}: no {part} conditions, expected at least one")
        twice = sorted(name for name, n in Counter(self.conditions).items() if n > 1)
        if twice:
            raise InputError(
                f"{where}: {list_some(twice)} occurs more than once, expected every condition once"
            )
        before = {gene for name in (*self.train, *self.validation) for gene in targets_in(name)}
        leaked = sorted(before & set(self.unseen_genes))
        if leaked:
            raise InputError(
                f"{where}: unseen genes {list_some(leaked)} are perturbed in training or"
                " validation, expected only in test"
            )

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of all parts."""
        return (*self.train, *self.validation, *self.test)

    @property
    def trained_genes(self) -> frozenset[str]:
        """The genes perturbed in a training condition, alone or with others."""
        return frozenset(gene for condition in self.train for gene in targets_in(condition))

    @property
    def name(self) -> str:
        """A description of the split."""
        return self.source if self.kind == "file" else f"{self.kind}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class _PublishedSplit:
    train_conditions: tuple[str, ...]
    val_conditions: tuple[str, ...]
    test_conditions: tuple[str, ...]
    unseen_genes: tuple[str, ...] = ()
    seed: Any = None


def read_split(path: Path) -> Split:
    """Return the split of a published JSON file: train_conditions, val_conditions and
    test_conditions, unseen_genes and seed. Raise InputError for other content."""
    read = parse(_PublishedSplit, read_file(path, MAX_BYTES), path.name, unknown="ignore")
    train, validation, test = map(
        _canonical, (read.train_conditions, read.val_conditions, read.test_conditions)
    )
    seed = read.seed if isinstance(read.seed, int) else None
    unseen = tuple(sorted(read.unseen_genes))
    return Split(train, validation, test, "file", unseen, seed, path.name)


def _canonical(conditions: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in map(parse_condition, conditions) if name != CONTROL))


def draw_split(conditions: Collection[str], kind: DrawnKind, seed: int) -> Split:
    """Return a split of canonical conditions, drawn with a seed.

    compositional: the test conditions are doubles whose genes are both perturbed in other
    conditions. hard: N_UNSEEN genes (at most a sixth of the perturbed genes) are never trained,
    alone or in doubles; the test has every condition with one of them, and doubles of trained
    genes. Raise InputError if the conditions do not allow it.
    """
    names = sorted(set(conditions) - {CONTROL})
    rng = np.random.default_rng(seed)
    unseen: tuple[str, ...] = ()
    if kind == "compositional":
        held_out = _composed_doubles(names, _TEST_SHARE, rng)
        if not held_out:
            raise InputError(
                f"compositional split: none of the {len(names):,} conditions is a double with both "
                "genes perturbed in others, expected some. Choose the hard split"
            )
    else:
        genes = sorted({gene for name in names for gene in targets_in(name)})
        n_unseen = min(N_UNSEEN, len(genes) // 6)
        if n_unseen < 1:
            raise InputError(
                f"hard split: {len(genes)} perturbed genes, expected at least 6, because a sixth is"
                " never trained"
            )
        unseen = tuple(sorted(map(str, rng.choice(genes, n_unseen, replace=False))))
        with_unseen = [name for name in names if set(targets_in(name)) & set(unseen)]
        trainable = [name for name in names if name not in with_unseen]
        held_out = with_unseen + _composed_doubles(trainable, _TEST_SHARE / 2, rng)
    rest = [name for name in names if name not in held_out]
    # Validation conditions preferably leave each of their genes in a training condition.
    n_validation = max(1, round(_VALIDATION_SHARE * len(rest)))
    composed = _composed_doubles(rest, _VALIDATION_SHARE, rng)
    others = rng.permutation([name for name in rest if name not in composed])
    validation = sorted([*composed, *map(str, others)][:n_validation])
    train = tuple(name for name in rest if name not in validation)
    return Split(train, tuple(validation), tuple(sorted(held_out)), kind, unseen, seed)


def _composed_doubles(names: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """Draw conditions of several genes; each gene stays perturbed in a condition that is not
    drawn."""
    uses = Counter(gene for name in names for gene in targets_in(name))
    n_wanted = max(1, round(share * len(names)))
    drawn: list[str] = []
    for name in rng.permutation([name for name in names if len(targets_in(name)) > 1]):
        genes = targets_in(str(name))
        if len(drawn) < n_wanted and all(uses[gene] > 1 for gene in genes):
            drawn.append(str(name))
            uses.subtract(genes)
    return drawn
