"""Splits of conditions into training, validation and test: from a published file, or drawn with a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from core.errors import InputError
from core.file_io import read_file
from core.records import parse
from core.target_ranking.expression import CONTROL, parse_condition, targets_in

Kind = Literal["compositional", "hard", "file"]
PARTS: Final = ("train", "validation", "test")
MOST_BYTES: Final = 50_000_000
UNSEEN_GENES: Final = 16  # in the hard split, as published
_TEST_SHARE, _VALIDATION_SHARE = 0.2, 0.1  # shares of the conditions to draw from
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Split:
    """Canonical conditions of each part, sorted, without control cells.

    unseen_genes: perturbed in test conditions only. kind: "file" for a published split, named in `source`. seed: of the draw,
    None if unknown.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]
    kind: Kind
    unseen_genes: tuple[str, ...] = ()
    seed: int | None = None
    source: str = ""

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
    """Return the split of a published JSON file: train_conditions, val_conditions and test_conditions, unseen_genes and seed.

    Raise InputError for other content, a condition in two parts or twice in one, a part without conditions, and an unseen gene
    perturbed in a training or validation condition.
    """
    found = parse(_PublishedSplit, read_file(path, MOST_BYTES), path.name, unknown="ignore")
    train, validation, test = map(_canonical, (found.train_conditions, found.val_conditions, found.test_conditions))
    seed = found.seed if isinstance(found.seed, int) else None
    return check_split(Split(train, validation, test, "file", tuple(sorted(found.unseen_genes)), seed, path.name))


def _canonical(conditions: Sequence[str]) -> tuple[str, ...]:
    parsed = map(parse_condition, conditions)
    return tuple(sorted(condition for condition in parsed if condition != CONTROL))


def check_split(split: Split) -> Split:
    """Return the split.

    Raise InputError if a part has no conditions, if a condition occurs twice, or if an unseen gene is perturbed in training or
    validation.
    """
    where = split.source or f"split {split.name}"
    for part in PARTS:
        if not getattr(split, part):
            raise InputError(f"{where}: no {part} conditions, expected at least one")
    counts = Counter(condition for part in PARTS for condition in getattr(split, part))
    twice = sorted(condition for condition, n in counts.items() if n > 1)
    if twice:
        raise InputError(f"{where}: {_some(twice)} occurs more than once, expected every condition once")
    before = {gene for condition in (*split.train, *split.validation) for gene in targets_in(condition)}
    leaked = sorted(before & set(split.unseen_genes))
    if leaked:
        raise InputError(f"{where}: unseen genes {_some(leaked)} are perturbed in training or validation, expected only in test")
    return split


def draw_split(conditions: Collection[str], kind: Kind, seed: int, unseen_genes: int = UNSEEN_GENES) -> Split:
    """Return a split of canonical conditions, drawn with a seed.

    compositional: the test conditions are doubles whose genes are both perturbed in other conditions. hard: `unseen_genes`
    genes (at most a sixth of the perturbed genes) are never trained, alone or in doubles; the test has every condition with one
    of them, and doubles of trained genes. Raise InputError if the conditions do not allow it.
    """
    names = sorted(set(conditions) - {CONTROL})
    rng = np.random.default_rng(seed)
    unseen: tuple[str, ...] = ()
    if kind == "compositional":
        held_out = _composed_doubles(names, _TEST_SHARE, rng)
        if not held_out:
            raise InputError(
                f"compositional split: none of the {len(names):,} conditions is a double with both genes perturbed in others, "
                "expected some. Choose the hard split"
            )
    elif kind == "hard":
        unseen = _draw_unseen(names, unseen_genes, rng)
        with_unseen = [name for name in names if set(targets_in(name)) & set(unseen)]
        rest = [name for name in names if name not in set(with_unseen)]
        held_out = with_unseen + _composed_doubles(rest, _TEST_SHARE / 2, rng)
    else:
        raise InputError(f"split: got {kind!r}, expected compositional or hard")
    rest = [name for name in names if name not in set(held_out)]
    validation = _draw_validation(rest, rng)
    train = tuple(name for name in rest if name not in set(validation))
    return check_split(Split(train, validation, tuple(sorted(held_out)), kind, unseen, seed))


def _draw_unseen(names: Sequence[str], wanted: int, rng: np.random.Generator) -> tuple[str, ...]:
    genes = sorted({gene for name in names for gene in targets_in(name)})
    n = min(wanted, len(genes) // 6)
    if n < 1:
        raise InputError(f"hard split: {len(genes)} perturbed genes, expected at least 6, because a sixth is never trained")
    return tuple(sorted(str(gene) for gene in rng.choice(genes, n, replace=False)))


def _composed_doubles(names: Sequence[str], share: float, rng: np.random.Generator) -> list[str]:
    """Draw conditions of several genes; each gene stays perturbed in a condition that is not drawn."""
    uses = Counter(gene for name in names for gene in targets_in(name))
    wanted = max(1, round(share * len(names)))
    drawn: list[str] = []
    for name in rng.permutation([name for name in names if len(targets_in(name)) > 1]):
        genes = targets_in(str(name))
        if len(drawn) < wanted and all(uses[gene] > 1 for gene in genes):
            drawn.append(str(name))
            uses.subtract(genes)
    return drawn


def _draw_validation(names: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    """Draw the validation conditions, preferring conditions that leave each of their genes in a training condition."""
    wanted = max(1, round(_VALIDATION_SHARE * len(names)))
    composed = _composed_doubles(names, _VALIDATION_SHARE, rng)
    rest = rng.permutation([name for name in names if name not in set(composed)])
    return tuple(sorted([*composed, *map(str, rest)][:wanted]))


def require_conditions(split: Split, known: Collection[str], where: str, parts: Sequence[str] = PARTS) -> None:
    """Raise InputError if the data lack a condition of these parts of a split. where: the data's name."""
    missing = sorted({name for part in parts for name in getattr(split, part)} - set(known))
    if missing:
        raise InputError(f"{where}: {len(missing):,} conditions of the split {split.name} have no cells: {_some(missing)}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
