"""The leakage audit of a dataset: what its splits share, and which spaces and runs repeat labels or row counts.

Each part is checked by itself, so that a page can cache it; `LeakageAudit` holds all parts, and its findings in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from core.audit.shared_symbols import SharedSymbols, SplitOverlap
from core.errors import InputError, StateError
from core.scoring.controls import COUNT_ONLY, RARER_GENE
from core.scoring.run_scores import RunRows, RunScore, count_rows
from core.stats.count_controls import CountControls, score_count_controls
from core.stats.official_score import ScoreIntervals
from core.stats.row_changes import Agreement, agreement
from core.stats.scores_and_labels import scores_from_probabilities
from core.stats.space_probe import SpaceProbe, probe_space
from core.store.datasets import Dataset
from core.store.runs import Run
from core.store.spaces import SpaceRecord
from core.texts import NO_BIOLOGY
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space, unit_vectors

REPEATS, REPEATS_LOW = 0.95, 0.90  # a run whose AUROC and its interval's lower end reach these repeats the labels
DISGUISE = 0.9  # |Spearman| above which a run ranks rows as a count control does
LEAST_ROWS = 20  # among fewer, chance or a good run gives such values, and an AUROC of 1 has no variance
SEED = 0  # of the permutations of a space's vectors

Kind = Literal["shared", "space", "run"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak. name: of the two splits, the space or the run; what: in words; run: the run's id."""

    kind: Kind
    name: str
    what: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class SpaceCheck:
    """One space. probe: None if its vectors cannot be read, and `error` says why. built_from: as the space declares it."""

    name: str
    built_from: str | None
    probe: SpaceProbe | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """One run: its score, and how far each split's rows are ranked as by count-only (de) and rarer gene (up)."""

    score: ScoreIntervals
    likeness: Mapping[str, Agreement]


@dataclass(frozen=True, slots=True)
class LeakageAudit:
    """All parts of the audit of one dataset; notes: what could not be compared, in words."""

    dataset: Dataset
    counts: CountControls
    splits: tuple[SplitOverlap, ...]
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
        """Every leak: between splits, then of spaces, then of runs."""
        return [
            *(finding for pair in self.splits for finding in _shared_findings(pair, self.dataset)),
            *(Finding("space", space.name, what) for space in self.spaces if (what := _space_finding(space))),
            *(Finding("run", run.name, what, run.id) for run, check in self.runs for what in _run_findings(check)),
        ]


def check_counts(pairs: pd.DataFrame) -> CountControls:
    """The scores of row counts alone on the splits that have labels; pairs: from store.pairs.frame."""
    labelled = pairs[pairs.groupby("split")["label"].transform("count") > 0]
    pert, gene = (pd.factorize(labelled[name])[0] for name in ("pert", "gene"))  # codes are faster to group by than names
    return score_count_controls(labelled["label"], pert, gene)


def check_space(record: SpaceRecord, load: Callable[[], Space], index: RowIndex) -> SpaceCheck:
    """The probe of a space on all labelled rows of a dataset; load: returns its vectors over the index's symbols."""
    try:
        units, labelled = unit_vectors(load().columns), index.labelled_positions
    except (InputError, StateError) as error:
        return SpaceCheck(record.name, record.built_from, None, str(error))
    labels, rows = index.labels[labelled], index.rows.take(labelled)
    probe = probe_space(labels, rows.pert, units.row[rows.gene], units.vectors, np.random.default_rng(SEED))
    return SpaceCheck(record.name, record.built_from, probe)


def check_run(rows: RunRows, score: RunScore) -> RunCheck:
    """The check of a run with the score of all of its rows."""
    known, split = rows.frame["p_de"].notna().to_numpy(), rows.frame["split"].to_numpy()
    run = scores_from_probabilities(rows.frame["p_de"].fillna(0.0), rows.frame["p_up_given_de"])
    counts = count_rows(rows).scores
    chosen = {str(name): known & (split == name) for name in dict.fromkeys(split)}
    return RunCheck(score.whole, {name: agreement(run.take(some), counts.take(some)) for name, some in chosen.items()})


def describe_space(space: SpaceCheck) -> str:
    """What was found about a space, in a few words."""
    if space.probe is None:
        return f"cannot be read: {space.error}"
    tasks = {"DE": space.probe.de, "DIR": space.probe.dir}
    cleared = [f"{name} is {task.rate_matched:.3f}" for name, task in tasks.items() if task.rate_matched < task.limit]
    words = ["repeats the labels" if space.probe.repeats_labels else "does not repeat the labels"]
    words += [f"among genes of like rates {' and '.join(cleared)}"] if cleared else []
    words += [f"declared as built from the labels of {space.built_from}"] if space.built_from else []
    return "; ".join(words)


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


def _space_finding(space: SpaceCheck) -> str:
    """A leaking space in words; "" if its similarities do not repeat the labels, or it is declared as built from labels."""
    if space.probe is None or not space.probe.repeats_labels or space.built_from:
        return ""
    parts = [
        f"{name} {task.value:.3f}, {task.excess:.0f} standard deviations above permuted vectors"
        for name, task in (("DE", space.probe.de), ("DIR", space.probe.dir))
        if task.repeats_labels
    ]
    return f"repeats the labels without declaring it: within perturbations {'; '.join(parts)}"


def _run_findings(check: RunCheck) -> Iterator[str]:
    axes = (("DE", check.score.de), ("DIR", check.score.dir))
    repeated = [
        f"{name} {part.value:.3f} on {part.n:,} labelled rows"
        for name, part in axes
        if part.n >= LEAST_ROWS and part.value >= REPEATS and part.two_way.low >= REPEATS_LOW
    ]
    if repeated:
        yield f"repeats the labels: {', '.join(repeated)}; scored: {check.score.scored}"
    for split, found in check.likeness.items():
        for control, number, n, spearman in (
            (COUNT_ONLY, "P(DE)", found.n, found.de),
            (RARER_GENE, "P(up | DE)", found.n_up, found.up),
        ):
            if n >= LEAST_ROWS and abs(spearman) > DISGUISE:
                yield (
                    f"the {NO_BIOLOGY} ({control}) posing as a model: {number} ranks the {n:,} rows of {split} by how often "
                    f"their genes were measured (rank correlation {spearman:+.2f})"
                )
