"""Overview: what a run took, in words: time, tokens and cost. What is not known is left out, never guessed."""

from __future__ import annotations

from collections.abc import Mapping

from core.engine.request import Price
from core.store.runs import Run
from core.texts import describe_duration


def time_text(run: Run) -> str | None:
    """The time from the start of a finished run to its end; None for a run that was imported or is not done."""
    if run.status != "done" or run.started_at is None or run.finished_at is None:
        return None
    return describe_duration((run.finished_at - run.started_at).total_seconds())


def tokens_text(run: Run) -> str | None:
    """The tokens of a run's rows, with ≥ if the count is missing for some rows; None if no row does."""
    if run.tokens is None:
        return None
    number = f"{run.tokens / 1e6:.1f} M" if run.tokens >= 1e6 else f"{run.tokens:,}"
    return f"≥ {number}" if run.tokens_unknown else number


def cost_text(run: Run, spent: Mapping[str, tuple[int, int]], price: Price | None) -> str | None:
    """What a run cost, from the tokens of its calls (`loaders.tokens_by_run`).

    A run whose calls are not recorded knows only the sum of its tokens: a range if prompts and answers differ in price. None
    without a price, or if the tokens of some rows are not known.
    """
    if price is None:
        return None
    if run.id in spent:
        return f"{price.of(*spent[run.id]):,.2f}"
    if run.tokens is None or run.tokens_unknown:
        return None
    low, high = sorted((price.of(run.tokens, 0), price.of(0, run.tokens)))
    return f"{low:,.2f}" if low == high else f"{low:,.2f}–{high:,.2f}"
