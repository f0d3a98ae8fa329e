"""The leakage audit of a dataset: what splits share, what rows reveal, and which texts, spaces and runs have seen labels.

Each part is checked separately, so that a page can cache it; `LeakageAudit` holds all parts, and its findings in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from core.audit.label_statements import STATED_RIGHT, TextCheck
from core.audit.shared_symbols import SharedSymbols, SplitOverlap
from core.scoring.row_leaks import RowFinding
from core.scoring.run_leaks import RunCheck
from core.scoring.space_leaks import SpaceCheck
from core.stats.count_controls import CountControls, score_count_controls
from core.stats.run_probe import LIMIT
from core.stats.share_probe import LEAST_FREE, MOST_MULTIPLIED, MOST_UNITS
from core.store.datasets import Dataset
from core.store.runs import Run

Kind = Literal["shared", "rows", "text", "space", "run"]
NOT_PROBED = (
    f"Not probed: how runs were made, their prompts, traces and literature. A run with an AUROC between {1 - LIMIT:.2f} and "
    f"{LIMIT:.2f} may have seen labels unnoticed. One beyond is only suspicious, since a model may be that good. "
    "Spaces are probed for target genes and for perturbations, not for both together; for products of two columns "
    f"up to {MOST_MULTIPLIED} columns, never for products of more. "
    f"Shares spread over many columns pass if fewer than {LEAST_FREE} units are left over. So do shares with less information "
    "than biology may have: of half of the rows, of one side of the mean, folded so that high and low ones are alike, or "
    f"with much noise. At most {MOST_UNITS} units are probed. "
    f"Texts pass in which fewer than {STATED_RIGHT:.0%} of the directions are right, or that name genes otherwise than the rows "
    "do; so does a label in an id that a key hides."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak. name: of the two splits, the split, the pack, the space or the run; what: a description; run: the run's id."""

    kind: Kind
    name: str
    what: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class LeakageAudit:
    """All parts of the audit of one dataset; notes: sentences on parts that could not be compared."""

    dataset: Dataset
    counts: CountControls
    splits: tuple[SplitOverlap, ...]
    rows: tuple[RowFinding, ...]
    texts: tuple[TextCheck, ...]
    spaces: tuple[SpaceCheck, ...]
    runs: tuple[tuple[Run, RunCheck], ...]
    notes: tuple[str, ...] = ()

    @property
    def shared_perts(self) -> int:
        """The number of perturbations that any two splits share."""
        return len(set().union(*(pair.perts.keys() for pair in self.splits)))

    @property
    def shared_genes(self) -> int:
        """The number of target genes that any two splits share."""
        return len(set().union(*(pair.genes.keys() for pair in self.splits)))

    @property
    def findings(self) -> list[Finding]:
        """Every leak: between splits, in rows and texts, then of spaces, then of runs."""
        return [
            *(finding for pair in self.splits for finding in _shared_findings(pair, self.dataset)),
            *(Finding("rows", found.where, found.what) for found in self.rows),
            *(Finding("text", text.name, what) for text in self.texts for what in text.findings),
            *(Finding("space", space.name, what) for space in self.spaces for what in space.findings),
            *(Finding("run", run.name, what, run.id) for run, check in self.runs for what in check.findings),
        ]


def check_counts(pairs: pd.DataFrame) -> CountControls:
    """Return the scores of row counts on the labelled splits; pairs: from store.pairs.frame."""
    labelled = pairs[pairs.groupby("split")["label"].transform("count") > 0]
    pert, gene = (pd.factorize(labelled[name])[0] for name in ("pert", "gene"))  # codes are faster to group by than names
    return score_count_controls(labelled["label"], pert, gene)


def _shared_findings(pair: SplitOverlap, dataset: Dataset) -> Iterator[Finding]:
    for role, symbols in (("perturbation", pair.perts), ("target gene", pair.genes)):
        if len(symbols):
            by_design = role == "target gene" and dataset.headline == "macro"
            yield Finding("shared", f"{pair.a} and {pair.b}", _shared_text(role, symbols, by_design=by_design))


def _shared_text(role: str, symbols: SharedSymbols, *, by_design: bool) -> str:
    n = len(symbols)
    parts = [f"{n:,} {role}{'s' if n > 1 else ''} shared{' by design (PerturbQA is split by perturbation)' if by_design else ''}"]
    for rule, pairs in (("in another case", symbols.other_case), ("under another name", symbols.aliases)):
        if pairs:
            parts.append(rule if len(pairs) == n else f"{len(pairs):,} of them {rule}")
    return f"{', '.join(parts)}: {symbols.examples()}"
