"""The numbers of a kNN, and the neighbours behind one row, as results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Self

from core.base.result import UNMARKED, LabelMarks, Table, hidden, inline
from core.base.texts import number_text
from core.methods.fusion_components import DatasetPriors
from core.runs.component_loader import Progress, find_null
from core.runs.workspace import Workspace
from core.scoring.sentences import BIASED, TWO_WAY, UNSEEN, axes_text
from core.stats.delong import Estimate
from core.transfer import run_cells
from core.transfer.permutation_null import (
    N_PERMUTATIONS,
    KnnNumbers,
    PermutationNull,
    PermutationTest,
    means_of,
)
from core.transfer.prior_provenance import Provenance
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import MeanOfCuts, predict_cuts, score_cuts

AXES: Final = ("de", "dir", "mean")
MAX_LISTED: Final = 20  # neighbours in the table; the JSON has all


@dataclass(frozen=True, slots=True, eq=False)
class KnnResult:
    """The numbers of a kNN.

    points: de, dir: of the space, under folds the mean of ten cuts; de_covered, dir_covered: over
    the rows with a neighbour; null_de, null_dir: with no gene information. intervals: of each of
    them. saved: the scores of a run with this seed. cuts: how the single cuts vary, and permuted:
    the null of permuted vectors; None if they were not computed. run: the name that it is saved as.
    """

    settings: str
    coverage: float
    scored: str
    n: int
    n_covered: int
    seconds: float
    saved: dict[str, Any]
    cuts: dict[str, Any] | None
    permuted: dict[str, Any] | None
    intervals: dict[str, Estimate]
    points: dict[str, float] = inline()
    numbers: KnnNumbers = hidden()
    label_marks: LabelMarks = UNMARKED
    remarks: tuple[str, ...] = hidden(default=())
    run: str | None = None

    @classmethod
    def of(cls, numbers: KnnNumbers, settings: str, seconds: float, marks: LabelMarks) -> Self:
        """Return the result of the numbers of a kNN with these settings."""
        evaluation, protocol = numbers.evaluation, numbers.protocol
        own, score, covered, null = (
            evaluation.score,
            numbers.score,
            numbers.covered,
            evaluation.null,
        )
        intervals = {
            "de": score.de,
            "dir": score.dir,
            "mean": score.mean,
            "de_covered": covered.de,
            "dir_covered": covered.dir,
            "null_de": null.de,
            "null_dir": null.dir,
        }
        seed = protocol.seed if protocol.kind == "folds" else None
        return cls(
            settings=settings,
            coverage=evaluation.coverage,
            scored=score.scored,
            n=null.n,
            n_covered=evaluation.covered.n,
            seconds=seconds,
            saved={"de": own.de.value, "dir": own.dir.value, "seed": seed},
            cuts=None if numbers.cuts is None else _cuts(numbers.cuts),
            permuted=_permuted(numbers),
            intervals=intervals,
            points={name: part.value for name, part in intervals.items() if name != "mean"},
            numbers=numbers,
            label_marks=marks,
        )

    @property
    def title(self) -> str:
        """What was computed."""
        return "Scores of the neighbours"

    @property
    def sentence(self) -> str:
        """The scores with their null if it is known."""
        if self.numbers.score.n_labelled == 0:
            return "No labels here, so no score."
        sentence = knn_sentence(self.numbers)
        return f"{sentence[0].upper()}{sentence[1:]}."

    @property
    def scope(self) -> str:
        """The settings, and which rows have a neighbour."""
        covered = f"{self.n_covered:,} of {self.n:,} rows covered ({self.coverage:.1%})"
        return f"{self.settings} · {covered} · 95% intervals {TWO_WAY}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        caveats = [self.label_marks.sentence]
        if self.cuts is not None:
            own = ", ".join(
                f"{name.upper()} {number_text(self.saved[name])}" for name in ("de", "dir")
            )
            caveats.append(
                f"Rows without a neighbour have base rates. Cut {self.saved['seed']}, which a saved"
                f" run has: {own}."
            )
        if self.permuted is not None:
            n = self.permuted["n"]
            caveats.append(
                f"Vectors are permuted among the genes that the space covers, {n} times; one-sided"
                f" p = (1 + how many score as high) / {n + 1}."
            )
        if self.numbers.protocol.kind == "loo":
            caveats.append(BIASED)
        saved = f"Saved as {self.run}." if self.run else ""
        return tuple(filter(None, (*caveats, *self.remarks, saved)))

    def tables(self) -> tuple[Table, ...]:
        """Return the scores; none without labels."""
        if self.numbers.score.n_labelled == 0:
            return ()
        scores = [
            {"score": name, "AUROC": part, "interval": axes_text(part.shown)}
            for name, part in self.intervals.items()
        ]
        return (Table("Scores", tuple(scores)),)

    def figure(self) -> None:
        """Return None: the numbers are few."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighboursResult:
    """The labelled rows behind one row's priors, heaviest first.

    neighbours: pair_id, label, similarity, weight and share in prior_de, weight_up and share_up in
    prior_up.
    """

    pair_id: str
    settings: str
    prior_de: float
    prior_up: float
    neighbours: tuple[dict[str, Any], ...]

    @classmethod
    def of(
        cls, pair_id: str, settings: str, why: Provenance, pair_ids: list[str], labels: list[str]
    ) -> Self:
        """Return the result of the provenance of a row's priors; pair_ids, labels: of its
        neighbours."""
        names = ("similarity", "weight", "share", "weight_up", "share_up")
        columns = zip(
            pair_ids, labels, *(getattr(why, name).tolist() for name in names), strict=True
        )
        rows = (dict(zip(("pair_id", "label", *names), row, strict=True)) for row in columns)
        return cls(pair_id, settings, why.prior_de, why.prior_up, tuple(rows))

    @property
    def title(self) -> str:
        """The row."""
        return f"Neighbours of {self.pair_id}"

    @property
    def sentence(self) -> str:
        """The priors."""
        priors = map(number_text, (self.prior_de, self.prior_up))
        return "{}: prior of an effect {}, of up {}, from {:,} neighbours.".format(
            self.pair_id, *priors, len(self.neighbours)
        )

    @property
    def scope(self) -> str:
        return self.settings

    @property
    def caveats(self) -> tuple[str, ...]:
        """How many neighbours are not in the table."""
        more = len(self.neighbours) - MAX_LISTED
        return (f"{more:,} lighter neighbours are not listed; --json has all.",) if more > 0 else ()

    def tables(self) -> tuple[Table, ...]:
        """Return the heaviest neighbours."""
        return (
            (Table("Heaviest neighbours", self.neighbours[:MAX_LISTED]),) if self.neighbours else ()
        )

    def figure(self) -> None:
        """Return None: the neighbours are a list."""


def _cuts(mean: MeanOfCuts) -> dict[str, Any]:
    """Return how the single cuts vary."""
    cuts: dict[str, Any] = {"n": len(mean.seeds), "k": mean.k, "seeds": list(mean.seeds)}
    for name, sd in zip(AXES, mean.all_rows.sd.tolist(), strict=True):
        cuts[f"{name}_sd"] = sd
    for name, column in zip(AXES, mean.all_rows.values.T, strict=False):
        cuts |= {name: column, f"{name}_low": column.min(), f"{name}_high": column.max()}
    return cuts


def _permuted(numbers: KnnNumbers) -> dict[str, Any] | None:
    """Return the null of permuted vectors."""
    tests = numbers.test_against_null()
    if tests is None or numbers.null is None:
        return None
    permuted: dict[str, Any] = {"n": len(numbers.null.values), "seed": numbers.null.seed}
    for axis, test in zip(AXES, tests, strict=True):
        permuted |= {f"{axis}_mean": test.mean, f"{axis}_sd": test.sd, f"{axis}_p": test.p}
    return permuted


def null_text(test: PermutationTest) -> str:
    """Return a null beside a score, "permuted vectors 0.512 ± 0.038, one-sided p = 0.07"."""
    return (
        f"permuted vectors {number_text(test.mean)} ± {number_text(test.sd)}, one-sided p ="
        f" {number_text(test.p, '.2g')}"
    )


def knn_sentence(numbers: KnnNumbers) -> str:
    """Return one sentence on the scores of a kNN, with its null if known.

    The score without gene information checks the protocol; it is mentioned under leave-one-out,
    which is biased.
    """
    if numbers.cuts is not None:
        return f"neighbours alone: {space_sentence(numbers.cuts, numbers.null)}"
    score, null, protocol = numbers.score, numbers.evaluation.null, numbers.protocol
    loo = protocol.kind == "loo"
    where = (
        "as leave-one-out"
        if loo
        else f"{UNSEEN} ({protocol.k}×{protocol.k} cells, cut {protocol.seed})"
    )
    scores = ", ".join(
        f"{name} {number_text(part.value)}"
        + (f" (with no gene information: {number_text(empty.value)})" if loo else "")
        for name, part, empty in (("DE", score.de, null.de), ("DIR", score.dir, null.dir))
    )
    return f"neighbours alone: {scores} over {score.n_labelled:,} labelled rows, scored {where}"


def space_sentence(mean: MeanOfCuts, null: PermutationNull | None) -> str:
    """Return one sentence on the score of a space, with its null if known."""
    score = mean.all_rows.score
    tests = () if null is None else map(null_text, null.test(means_of(mean.all_rows)))
    known = [
        f"{name} {number_text(part.value)}" for name, part in score.parts.items() if name != "mean"
    ]
    scores = ", ".join(
        f"{part} ({test})" for part, test in zip(known, tests, strict=False)
    ) or ", ".join(known)
    return (
        f"{scores} over {score.n_labelled:,} labelled rows, scored {UNSEEN}: {run_cells.NAME},"
        f" inside {mean.k}×{mean.k} cells"
    )


def numbers_of(
    workspace: Workspace,
    found: DatasetPriors,
    protocol: EvaluationProtocol,
    permutations: int = N_PERMUTATIONS,
    progress: Progress | None = None,
) -> KnnNumbers:
    """Return the numbers of a prediction; under folds the mean of ten cuts, and its null unless
    `permutations` is 0."""
    evaluation = found.evaluation()
    if protocol.kind != "folds":
        return KnnNumbers(protocol, evaluation)
    cuts = score_cuts(
        found.labels, found.inputs.queries, predict_cuts(found.inputs, protocol.k), protocol.k
    )
    null = (
        find_null(workspace, found.inputs, found.labels, protocol.k, permutations, progress)
        if permutations
        else None
    )
    return KnnNumbers(protocol, evaluation, cuts, null)
