"""All numbers of a kNN together: the mean of ten cuts with its null, and what one run of it scores under its own protocol."""

from __future__ import annotations

from dataclasses import dataclass

from core.stats.official_score import ScoreIntervals
from core.transfer.cuts import CutScores, MeanOfCuts
from core.transfer.evaluation import Evaluation
from core.transfer.permutation_null import PermutationNull, PermutationTest
from core.transfer.protocols import EvaluationProtocol


@dataclass(frozen=True, slots=True, eq=False)
class KnnNumbers:
    """The numbers of a kNN.

    evaluation: as a run of this protocol, with this seed's cut, has them. cuts, null: of its space under folds; None under
    another protocol, without labels, or if they were not computed.
    """

    protocol: EvaluationProtocol
    evaluation: Evaluation
    cuts: MeanOfCuts | None = None
    null: PermutationNull | None = None

    @property
    def score(self) -> ScoreIntervals:
        """The number of the space, over all rows: the mean of the cuts if there are any."""
        return self.evaluation.score if self.cuts is None else self.cuts.all_rows.score

    @property
    def covered(self) -> ScoreIntervals:
        """The same over the rows with a prior."""
        return self.evaluation.covered if self.cuts is None else self.cuts.covered.score

    def test_against_null(self) -> tuple[PermutationTest, PermutationTest, PermutationTest] | None:
        """DE, DIR and their mean against the permuted space; None if that was not computed."""
        return None if self.cuts is None or self.null is None else self.null.test(means_of(self.cuts.all_rows))


def means_of(scores: CutScores) -> tuple[float, float]:
    """The means of DE and of DIR over cuts."""
    de, direction = scores.values.mean(axis=0).tolist()
    return de, direction
