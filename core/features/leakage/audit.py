"""The leakage audit of a dataset: what splits share, and which inputs reveal labels.

What was found in an input is kept by its content in the cache, so that Overview can say it without
a probe, and a new run repeats no probe of a space.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pandas as pd

from core import __version__
from core.base.errors import InputError, StateError, SystemFailure
from core.base.file_io import write_file
from core.base.hashes import sha256_of
from core.base.result import HIDDEN, Figure, Table
from core.base.texts import NO_BIOLOGY
from core.features.leakage import inputs
from core.features.leakage.inputs import DISGUISE
from core.features.leakage.probe import LIMIT, describe_power
from core.features.leakage.shared_symbols import (
    SplitOverlap,
    compare_splits,
    read_symbol_tables,
)
from core.runs import component_loader, packs
from core.runs.workspace import Workspace
from core.scoring.run_scores import add_count_controls, scored_rows
from core.stats.count_controls import CountControls, score_count_controls
from core.store import datasets, pairs, predictions, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.store.spaces import PackRecord
from core.transfer.row_index import RowIndex

Kind = Literal["shared", "rows", "text", "space", "run"]
NOT_SEEN = (
    "Not seen by these probes: labels in prompts, traces and literature; products of several"
    " columns; shares so noisy or coarse (such as which genes an input lacks) that biology could"
    " say as much; statements of which fewer than 85% are right; and a run with"
    f" an AUROC between {1 - LIMIT:.2f} and {LIMIT:.2f} that knows a few labels among many guesses."
    " A run beyond is only suspicious, since a model may be that good."
)
_TEXTS = ("descriptions", "pathways", "network", "regulation")  # kinds of packs
_SIGNS = {1: "up", -1: "down", 0: ""}


@dataclass(frozen=True, slots=True)
class Finding:
    """One leak. name: of the two splits, the pack, the space or the run; what: a description."""

    kind: Kind
    name: str
    what: str


@dataclass(frozen=True, slots=True)
class InputCheck:
    """One input. findings: sentences; remark: why it could not be read, or the dataset whose labels
    it declares, in which case it is not accused."""

    kind: Kind
    name: str
    findings: tuple[str, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class LeakageAudit:
    """All parts of the audit of one dataset. notes: on parts that could not be compared. power: how
    weak a leak the probes still find."""

    dataset: Dataset = field(metadata=HIDDEN)
    counts: CountControls
    splits: tuple[SplitOverlap, ...]
    inputs: tuple[InputCheck, ...]
    notes: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
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
        """Every leak: between splits, then of inputs."""
        return [
            *(Finding("shared", *each) for each in shared_findings(self.splits, self.dataset)),
            *(
                Finding(each.kind, each.name, what)
                for each in self.inputs
                for what in each.findings
            ),
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
        return (
            f"{self.dataset.name} · pairs of splits: {len(self.splits):,} · inputs:"
            f" {len(self.inputs):,}"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the probes do not see, what the numbers mean, and what is no leak."""
        groups = {each["ortholog"]: each for pair in self.splits for each in pair.paralogs}
        names = (
            f"{', '.join(each['a'])} and {', '.join(each['b'])} ({ortholog})"
            for ortholog, each in groups.items()
        )
        return (
            NOT_SEEN,
            f"{self.counts.singletons:,} labelled rows are of genes measured once,"
            f" {self.counts.singletons_none:,} of them labelled none: a score of row counts is a"
            " control for a model, never its input.",
            f"A run that ranks rows as the {NO_BIOLOGY} does (a rank correlation beyond {DISGUISE})"
            " is a finding.",
            *(
                [f"Different genes of two splits with one ortholog, no leak: {'; '.join(names)}"]
                if groups
                else []
            ),
            *self.notes,
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the findings, the baseline's scores, and every check."""
        counts = {
            "count-only, DE": self.count_only_de,
            "count-only without genes measured once, DE": self.count_only_de_without_singletons,
            "rarer gene, DIR": self.rarer_up_dir,
        }
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
                tuple({"control": name, "score": score} for name, score in counts.items()),
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
                "Inputs",
                tuple(
                    {
                        "input": each.kind,
                        "name": each.name,
                        "found": each.remark
                        or (
                            "reveals labels" if each.findings else "no label found by these probes"
                        ),
                    }
                    for each in self.inputs
                ),
            ),
            Table(
                "The weakest planted leaks that are found",
                tuple({"leak": each} for each in self.power),
            ),
        )
        return tuple(table for table in tables if table.rows)

    def figure(self) -> Figure | None:
        """Return None."""
        return None


def shared_findings(splits: Iterable[SplitOverlap], dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yield the splits that share genes or perturbations, and which."""
    for pair in splits:
        for role, symbols in (("perturbation", pair.perts), ("target gene", pair.genes)):
            if n := len(symbols):
                parts = [f"{n:,} {role}{'s' if n > 1 else ''} shared"]
                if role == "target gene" and dataset.headline == "macro":
                    parts[0] += " by design (PerturbQA is split by perturbation)"
                for rule, same in (
                    ("in another case", symbols.other_case),
                    ("under another name", symbols.aliases),
                ):
                    if same:
                        parts.append(rule if len(same) == n else f"{len(same):,} of them {rule}")
                yield f"{pair.a} and {pair.b}", f"{', '.join(parts)}: {symbols.examples()}"


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of a dataset. content: tells it from an earlier one of the same name; find: reads
    and probes it; declared: the dataset whose labels a space says it was built from."""

    kind: Kind
    name: str
    content: str
    find: Callable[[], Iterable[str]]
    declared: str | None = None


def audit(
    workspace: Workspace, dataset: Dataset, progress: Callable[[float], object] = lambda _: None
) -> LeakageAudit:
    """Return every check of a dataset: its splits, rows, packs, spaces and runs. progress: gets the
    share that is done, after each input."""
    with workspace.store.read() as db:
        rows = pairs.frame(db, dataset.id)
    index = RowIndex.of_frame(rows)
    tables = read_symbol_tables(workspace, dataset.organism)
    inputs = list(_inputs(workspace, dataset, rows, index))
    checks = []
    for done, each in enumerate(inputs, 1):
        checks.append(_check(workspace, rows, each))
        progress(done / len(inputs))
    power = _Input("rows", "power", "", lambda: describe_power(index))
    return LeakageAudit(
        dataset,
        check_counts(rows),
        tuple(compare_splits(rows, tables)),
        tuple(checks),
        tables.notes,
        _check(workspace, rows, power).findings,
    )


def find_leaks(
    workspace: Workspace, dataset: str, progress: Callable[[float], object]
) -> list[tuple[str, str]]:
    """Return where a dataset (id) leaks, and how. progress: as of `audit`."""
    with workspace.store.read() as db:
        record = datasets.find(db, dataset)
    return [(leak.name, leak.what) for leak in audit(workspace, record, progress).findings]


def _check(workspace: Workspace, rows: pd.DataFrame, each: _Input) -> InputCheck:
    """Return what was found in an input, now or by an earlier audit."""
    file = _file(workspace, rows, each)
    found = _read(file)
    if found is None:
        try:
            found = list(each.find())
        except (InputError, StateError) as error:
            return InputCheck(each.kind, each.name, remark=f"cannot be read: {error}")
        if not workspace.settings.read_only:
            # another audit wrote it, or the disk is full
            with suppress(StateError, SystemFailure, OSError):
                file.parent.mkdir(parents=True, exist_ok=True)
                write_file(json.dumps(found).encode(), file)
    if each.declared:
        seen = "reveals labels; " if found else ""
        return InputCheck(
            each.kind, each.name, remark=f"{seen}declared as built from labels of {each.declared}"
        )
    return InputCheck(each.kind, each.name, tuple(found))


def _file(workspace: Workspace, rows: pd.DataFrame, each: _Input) -> Path:
    columns = [rows[name].fillna("").tolist() for name in ("pair_id", "label", "split")]
    key = json.dumps([__version__, each.kind, each.name, each.content, columns])
    return workspace.settings.cache / "leaks" / f"{sha256_of(key)}.json"


def _read(file: Path) -> list[str] | None:
    try:
        found: list[str] = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return found


def _inputs(
    workspace: Workspace, dataset: Dataset, rows: pd.DataFrame, index: RowIndex
) -> Iterator[_Input]:
    with workspace.store.read() as db:
        known_packs, known_spaces = spaces.list_packs(db), spaces.list_all(db)
        known_runs = {run.id: run for run in runs.list_predicting(db, dataset.id)}
    yield _Input("rows", dataset.name, "", lambda: inputs.check_rows(index))
    for pack in known_packs:
        if pack.kind in _TEXTS:

            def check_pack(pack: PackRecord = pack) -> list[str]:
                return inputs.check_texts(index, _read_texts(workspace, pack))

            yield _Input("text", pack.name, pack.sha256, check_pack)
    for space in known_spaces:

        def check_space(name: str = space.name) -> list[str]:
            [loaded] = component_loader.load_spaces(workspace, index, dataset, [name])
            return inputs.check_space(index, loaded.columns)

        yield _Input("space", space.name, space.sha256, check_space, space.built_from)
    for run in known_runs.values():

        def check_run(run: Run = run) -> list[str]:
            with workspace.store.read() as db:
                frame = add_count_controls(predictions.frame(db, run.id), rows)
            return inputs.check_run(scored_rows(run, known_runs.get, frame, index, dataset))

        yield _Input("run", run.name, f"{run.id} {run.folded_bytes} {run.finished_at}", check_run)


def _read_texts(workspace: Workspace, record: PackRecord) -> Mapping[str, str]:
    """Return a pack's texts by gene; of edges a sentence each. Raise StateError or InputError if it
    cannot be read."""
    pack = packs.read(workspace.settings, record.name, record.sha256)
    if pack.kind == "descriptions":
        texts: Mapping[str, str] = pack.entries
        return texts
    if pack.kind == "pathways":
        return {gene: "\n".join(names) for gene, names in pack.entries.items()}
    sentences: dict[str, list[str]] = defaultdict(list)
    if pack.kind == "network":
        for edge in pack.entries:
            sentences[edge[0]].append(str(edge[1]))
    else:
        for (factor, target), sign in pack.entries.items():
            sentences[factor].append(f"{target} {_SIGNS[sign]}")
    return {gene: "\n".join(lines) for gene, lines in sentences.items()}


def check_counts(rows: pd.DataFrame) -> CountControls:
    """Return the scores of row counts on the labelled splits; rows: from store.pairs.frame."""
    labelled = rows[rows.groupby("split")["label"].transform("count") > 0]
    # codes are faster to group by than names
    pert, gene = (pd.factorize(labelled[name])[0] for name in ("pert", "gene"))
    return score_count_controls(labelled["label"], pert, gene)
