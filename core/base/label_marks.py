"""How far the labels of a dataset that was made of cells can be trusted, and the one sentence that
says it beside every score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

TOLERATED: Final = 2.0  # times the nominal rate of false effects


@dataclass(frozen=True, slots=True)
class LabelMarks:
    """What mock perturbations and batches say of labels.

    false_share: the expected share of effects that are false; nominal: what the thresholds allow.
    None where nothing is known: too few controls, labels that were made elsewhere. confounded:
    perturbations without labels, since they share too few cells of their batches with controls.
    """

    false_share: float | None = None
    nominal: float | None = None
    confounded: int = 0

    @property
    def marked(self) -> bool:
        """Whether more effects are expected to be false than twice the nominal rate."""
        return (
            self.false_share is not None
            and self.nominal is not None
            and self.false_share > TOLERATED * self.nominal
        )

    @property
    def sentence(self) -> str:
        """What has to be known of the labels beside a score, "" for nothing."""
        said = []
        if self.marked:
            said.append(
                f"These labels are marked: {self.false_share:.0%} of the effects are expected to be"
                " false, by mock perturbations of controls, more than twice the nominal"
                f" {self.nominal:.0%}; do not trust scores on them."
            )
        if self.confounded:
            one = self.confounded == 1
            said.append(
                f"{self.confounded:,} perturbation{' is' if one else 's are'} confounded with"
                f" {'its' if one else 'their'} batch and ha{'s' if one else 've'} no labels."
            )
        return " ".join(said)

    @property
    def json_value(self) -> dict[str, Any]:
        """Return it as plain data, for `--json`."""
        known = {
            "false_share": self.false_share,
            "nominal": self.nominal,
            "confounded": self.confounded,
        }
        return {"marked": self.marked, **known, "sentence": self.sentence}


UNMARKED: Final = LabelMarks()
