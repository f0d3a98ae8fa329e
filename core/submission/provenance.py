"""What is known about the run behind a submission, beyond the file itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunProvenance:
    """Everything a rule may ask about the run; the defaults are those of a run about which nothing is known.

    prompt: the text that was run, None if unknown. prompt_fault: why it cannot be shown that today's text is that text, "" if
    it can or no prompt is needed. sampling: (temperature, top_p) of the calls. models: names of all models that were used,
    those of the parents included. learned: what was learned from the competition's labels, each as a phrase that names its run.
    shots: measured pairs in each prompt. changed: what differs between the code that ran and today's, "" if nothing.
    left_out: rows of the run that are not among those submitted. repeated: rows in which a seed gave no answer, so that
    the mean over the others stands in its columns.
    """

    run: str = ""
    prompt: str | None = None
    prompt_fault: str = ""
    sampling: tuple[tuple[float, float], ...] = ()
    models: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    shots: int = 0
    changed: str = ""
    left_out: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


UNKNOWN_RUN = RunProvenance()
