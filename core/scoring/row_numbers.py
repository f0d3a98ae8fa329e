"""The numbers of a row: what its flags mean, and how the judges' verdicts led to what was
submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.base.texts import number_text, quantity_text
from core.base.types import PREDICTED_EXPRESSION, RANK_METHODS, Flag
from core.store.runs import Run

# Methods that call no language model: their rows without a token count used none.
MODEL_FREE = ("knn", *RANK_METHODS, PREDICTED_EXPRESSION)
_SMALL = 5e-5  # four decimals would say 0.0000
FLAG_HELP: Mapping[str, str] = {
    Flag.ROLE_COLLAPSE: (
        "A brief answers the multiple-choice question instead of arguing. In debates made here,"
        " also a brief that was refused twice. Such a brief has too few sentences, does not name"
        " both genes, or concludes for the other side."
    ),
    Flag.DE_FALLBACK: (
        "The judge of EFFECT against NULL could not be read; a base rate or a constant replaces"
        " P(DE)."
    ),
    Flag.DIR_FALLBACK: (
        "The judge of UP against DOWN could not be read; a base rate or a constant replaces P(up |"
        " DE)."
    ),
    Flag.UNIFORM: "Both predictions are .333: nothing was predicted.",
    Flag.TRACE_DIFFERS: (
        "The submitted numbers differ from those in the trace: the file was changed later, as by a"
        " fusion."
    ),
    Flag.ANSWER_DIFFERS: (
        "The answer at the end of a model's text differs from the number beside it. The number"
        " counts, since it was submitted."
    ),
    Flag.UNCOVERED: (
        "No labelled row is similar: base rates replace both probabilities, in a fusion the middle"
        " rank."
    ),
    Flag.UNCOVERED_DIR: (
        "No similar row has a direction: the base rate replaces P(up | DE), in a fusion the middle"
        " rank."
    ),
    Flag.NOT_PREDICTED: (
        "The file of predicted expression lacks this pair: the training split's base rates replace"
        " both probabilities."
    ),
    Flag.PARTLY_COVERED: (
        "A component of the fusion has no prediction for this row: only the others are used."
    ),
    Flag.NO_DE: (
        "The run does not rank rows by an effect: this number is not a score, and DE is left out."
    ),
    Flag.NO_DIR: (
        "The run does not rank rows by direction: there is no number for it, and DIR is left out."
    ),
    Flag.NO_KNOWLEDGE: (
        "No knowledge pack has facts about the perturbation or the target gene: there is no"
        " summary."
    ),
    Flag.INSUFFICIENT: (
        "At least one sample says that the evidence is insufficient; the method counts it as .5."
    ),
    Flag.FEWER_SEEDS: (
        "A mean over fewer seeds, epochs or verdicts than requested: the other answers could not be"
        " read. “How these numbers were computed” shows the number."
    ),
    Flag.DOSSIER_CHANGED: (
        "Asked again with cards left out of the dossier, or with texts edited by hand. This is not"
        " an answer of the original run."
    ),
}


def score_name(run: Run, name: str = "P(DE)") -> str:
    """Return the name of a run's number: "P(DE)" or "P(up | DE)", but "DE rank score" or "DIR rank
    score" if made of ranks."""
    return (
        {"P(DE)": "DE rank score", "P(up | DE)": "DIR rank score"}[name]
        if run.has_rank_scores
        else name
    )


def arithmetic(run: Run, row: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how the judges' verdicts led to the submitted numbers of a row that did not fail, one
    sentence per line.

    row: the columns of a prediction. events: the fields of `TraceEvent`, meta a mapping.
    """
    verdicts = {e["stage"]: e["meta"].get("p") for e in events if e["kind"] == "verdict"}
    up, down = row["prediction_up"], row["prediction_down"]
    rest = "" if run.has_rank_scores else f", so none {_text(1 - up - down)}"
    lines = [f"submitted: up {_text(up)}, down {_text(down)}{rest}"]
    p_de, p_up = verdicts.get("de"), verdicts.get("dir")
    if p_de is not None and p_up is not None:
        who = "means of the samples" if run.method == "summer" else "judges"
        lines.insert(0, f"{who}: P(DE) {_text(p_de)}, P(up | DE) {_text(p_up)}")
        products = [("up", p_up), ("down", 1 - p_up)]
        lines.insert(
            1,
            ", ".join(
                f"{name} = {_text(p_de)} × {_text(p)} = {_text(p_de * p)}" for name, p in products
            ),
        )
    elif row["p_source"] == "file" and row["p_up_given_de"] is not None:
        sum_name, ratio_name = score_name(run), score_name(run, "P(up | DE)")
        lines.append(
            f"{sum_name} = up + down = {_text(row['p_de'])}, {ratio_name} = up / (up + down) ="
            f" {_text(row['p_up_given_de'])}"
        )
    if Flag.TRACE_DIFFERS in row["flags"]:
        lines.append(
            "the submitted numbers differ from the judges': the file was changed after the debate"
        )
    lines += [_seeds_line(e) for e in events if "asked" in e["meta"]]
    # The row's tokens and tool calls; a missing count with a trace written by a model means unknown
    # tokens
    is_unknown = row["tokens"] is None or (
        row["tokens"] == 0 and events and run.method not in MODEL_FREE
    )
    tokens = "unknown" if is_unknown else f"{row['tokens']:,}"
    tools = "unknown" if row["tool_calls"] is None else f"{row['tool_calls']:,}"
    lines.append(f"tokens {tokens}, tool calls {tools}")
    return lines


def _text(p: float) -> str:
    """Return a probability with four decimals; a smaller one with its power of ten."""
    return number_text(p, ".4f") if p == 0 or abs(p) >= _SMALL else quantity_text(p)


def _seeds_line(event: Mapping[str, Any]) -> str:
    """Over how many seeds or verdicts an event's mean was taken, of how many that were asked."""
    of = {"de": "P(DE)", "dir": "P(up | DE)"}.get(event["stage"], "up and down")
    return (
        f"{of}: mean of {event['meta']['read']} of {event['meta']['asked']}"
        f" {event['meta'].get('of', 'seeds')}"
    )
