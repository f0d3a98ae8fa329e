"""The leakage audit of a dataset: what splits share, what rows reveal, and which texts, spaces and
runs have seen labels.

Each part is checked separately, so that a page can cache it; `LeakageAudit` holds all parts, and
its findings in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from core.base.result import HIDDEN, Figure, Table
from core.base.texts import NO_BIOLOGY
from core.features.leakage.label_statements import STATED_RIGHT, TextCheck
from core.features.leakage.leak_power import LeakPower
from core.features.leakage.row_leaks import RowFinding
from core.features.leakage.run_leaks import DISGUISE, RunCheck
from core.features.leakage.run_probe import LIMIT
from core.features.leakage.share_probe import LEAST_FREE, MOST_UNITS
from core.features.leakage.shared_symbols import SplitOverlap
from core.features.leakage.space_leaks import TASKS, SpaceCheck, describe_space
from core.features.leakage.space_probe import LIMITS
from core.stats.count_controls import CountControls, score_count_controls
from core.store.datasets import Dataset

Kind = Literal["shared", "rows", "text", "space", "run"]
NOT_PROBED = (
    "Not probed: how runs were made, their prompts, traces and literature. A run with an AUROC"
    f" between {1 - LIMIT:.2f} and {LIMIT:.2f} may have seen labels unnoticed. One beyond is only"
    " suspicious, since a model may be that good. Spaces are probed for target genes and for"
    " perturbations, not for both together, and not for products of columns. Shares spread over"
    f" many columns pass if fewer than {LEAST_FREE} units are left over. So do shares with less"
    " information than biology may have: of half of the rows, of one side of the mean, folded so"
    f" that high and low ones are alike, or with much noise. At most {MOST_UNITS} units are probed."
    f" Texts pass in which fewer than {STATED_RIGHT:.0%} of the directions are right, or that name"
    " genes otherwise than the rows do; so does a label that ids or the places of rows encode, as"
    " in even and odd numbers."
)


_LIMITS = ", ".join(
    f"{task} {LIMITS[task, 'similarity']:.2f} and {LIMITS[task, 'column']:.2f}" for task in TASKS
)
HOW_PROBED = (
    "Spaces: shares of labels that vectors predict four standard errors above the noise ceiling"
    " are a finding; within, the smaller AUROC inside genes and inside perturbations, suspect from"
    f" (by similarity and by a column) {_LIMITS}."
)
HOW_COMPARED = (
    f"Likeness of a run: its rank correlation with the {NO_BIOLOGY}, in the split where it is"
    f" largest; beyond {DISGUISE} is a finding. A run is suspicious from an AUROC of {LIMIT:.2f},"
    f" or up to {1 - LIMIT:.2f}: a reason to look, not a proof."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak. name: of the two splits, the split, the pack, the space or the run; what: a
    description."""

    kind: Kind
    name: str
    what: str


@dataclass(frozen=True, slots=True, eq=False)
class LeakageAudit:
    """All parts of the audit of one dataset. notes: on parts that could not be compared. power: of
    the probes of spaces."""

    dataset: Dataset = field(metadata=HIDDEN)
    counts: CountControls
    splits: tuple[SplitOverlap, ...]
    rows: tuple[RowFinding, ...] = field(metadata=HIDDEN)
    texts: tuple[TextCheck, ...]
    spaces: tuple[SpaceCheck, ...]
    runs: tuple[RunCheck, ...]
    notes: tuple[str, ...] = ()
    power: tuple[LeakPower, ...] = ()
    title = "Leaks of labels"
    json_properties = (
        *("count_only_de", "count_only_de_without_singletons", "rarer_up_dir"),
        *("shared_perts", "shared_genes", "findings"),
    )

    @property
    def count_only_de(self) -> float:
        """The score of row counts for DE."""
        return self.counts.count_only_de.value

    @property
    def count_only_de_without_singletons(self) -> float:
        """The same without genes measured once."""
        return self.counts.count_only_de_without_singletons.value

    @property
    def rarer_up_dir(self) -> float:
        """The score of row counts for DIR."""
        return self.counts.rarer_up_dir.value

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
            *(Finding("rows", row.where, row.what) for row in self.rows),
            *(Finding("text", text.name, what) for text in self.texts for what in text.findings),
            *(
                Finding("space", space.name, what)
                for space in self.spaces
                for what in space.findings
            ),
            *(Finding("run", run.name, what) for run in self.runs for what in run.findings),
        ]

    @property
    def sentence(self) -> str:
        """How many leaks were found and where, or what was looked for."""
        found = self.findings
        if not found:
            return (
                "No leak found: no two splits share a perturbation or a target gene, these probes"
                " find no label in rows, texts, spaces and runs, and no run copies the"
                f" {NO_BIOLOGY}."
            )
        where = ", ".join(dict.fromkeys(each.name for each in found))
        return f"{len(found):,} {'finding' if len(found) == 1 else 'findings'}: {where}."

    @property
    def scope(self) -> str:
        """What was checked."""
        counted = {
            "pairs of splits": self.splits,
            "packs of texts": self.texts,
            "spaces": self.spaces,
            "runs": self.runs,
        }
        return (
            f"{self.dataset.name} ·"
            f" {' · '.join(f'{what}: {len(of):,}' for what, of in counted.items())}"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What was not probed, what the numbers of the tables mean, and what is no leak."""
        counts, paralogs = (
            self.counts,
            [_paralogs_text(pair) for pair in self.splits if pair.paralogs],
        )
        single = (
            f"{counts.singletons:,} labelled rows are of genes measured once,"
            f" {counts.singletons_none:,} of them labelled none: a score of row counts is a control"
            " for a model, never its input."
        )
        probed = [HOW_PROBED] if self.spaces else []
        return (
            NOT_PROBED,
            single,
            *probed,
            *([HOW_COMPARED] if self.runs else []),
            *paralogs,
            *self.notes,
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the findings, the baseline's scores, and every check."""
        tables = (
            Table(
                "Findings",
                tuple(
                    {"of": each.kind, "name": each.name, "what": each.what}
                    for each in self.findings
                ),
            ),
            Table(
                f"The {NO_BIOLOGY}",
                (
                    {"control": "count-only, DE", "score": self.count_only_de},
                    {
                        "control": "count-only without genes measured once, DE",
                        "score": self.count_only_de_without_singletons,
                    },
                    {"control": "rarer gene, DIR", "score": self.rarer_up_dir},
                ),
            ),
            Table(
                "Splits",
                tuple(
                    {
                        "splits": f"{pair.a} and {pair.b}",
                        "shared perturbations": len(pair.perts),
                        "shared target genes": len(pair.genes),
                        "in another case": len(pair.perts.other_case) + len(pair.genes.other_case),
                        "under another name": len(pair.perts.aliases) + len(pair.genes.aliases),
                    }
                    for pair in self.splits
                ),
            ),
            Table(
                "Texts", tuple({"pack": text.name, "found": text.describe()} for text in self.texts)
            ),
            Table(
                "Spaces",
                tuple(
                    {"space": space.name, "found": describe_space(space)} for space in self.spaces
                ),
            ),
            Table(
                "The weakest planted leak of a space that is found",
                tuple({"probe": each.what} for each in self.power),
            ),
            Table(
                "Runs",
                tuple(
                    {
                        "run": run.name,
                        "DE": run.score.de,
                        "DIR": run.score.dir,
                        "scored": run.score.scored if run.score.n_labelled else None,
                        "like count-only": _largest(each.de for each in run.likeness.values()),
                        "like rarer gene": _largest(each.up for each in run.likeness.values()),
                    }
                    for run in self.runs
                ),
            ),
        )
        return tuple(table for table in tables if table.rows)

    def figure(self) -> Figure | None:
        """Return None."""
        return None


def _paralogs_text(pair: SplitOverlap) -> str:
    groups = {group.ortholog: group for group in (*pair.perts.paralogs, *pair.genes.paralogs)}
    texts = (
        f"{', '.join(each.a)} and {', '.join(each.b)} ({each.ortholog})" for each in groups.values()
    )
    return (
        f"Different genes of {pair.a} and {pair.b} with the same ortholog, which is not a leak:"
        f" {'; '.join(texts)}"
    )


def _largest(correlations: Iterable[float]) -> float | None:
    """Return the correlation farthest from 0; None if all are undefined."""
    return max((value for value in correlations if value == value), key=abs, default=None)


def check_counts(pairs: pd.DataFrame) -> CountControls:
    """Return the scores of row counts on the labelled splits; pairs: from store.pairs.frame."""
    labelled = pairs[pairs.groupby("split")["label"].transform("count") > 0]
    # codes are faster to group by than names
    pert, gene = (pd.factorize(labelled[name])[0] for name in ("pert", "gene"))
    return score_count_controls(labelled["label"], pert, gene)


def _shared_findings(pair: SplitOverlap, dataset: Dataset) -> Iterator[Finding]:
    for role, symbols in (("perturbation", pair.perts), ("target gene", pair.genes)):
        if len(symbols):
            n = len(symbols)
            parts = [f"{n:,} {role}{'s' if n > 1 else ''} shared"]
            if role == "target gene" and dataset.headline == "macro":
                parts[0] += " by design (PerturbQA is split by perturbation)"
            for rule, pairs in (
                ("in another case", symbols.other_case),
                ("under another name", symbols.aliases),
            ):
                if pairs:
                    parts.append(rule if len(pairs) == n else f"{len(pairs):,} of them {rule}")
            yield Finding(
                "shared", f"{pair.a} and {pair.b}", f"{', '.join(parts)}: {symbols.examples()}"
            )
