"""Overview: the ladder of scores, one for runs on the same rows that are scored alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.plots import ladder as ladder_plot
from core.scoring.public_noise import PublicNoise, public_noise
from core.scoring.sentences import TWO_WAY
from core.scoring.standing import Standing
from core.store.runs import Run
from core.texts import NO_BIOLOGY
from core.ui.shared import loaders
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_empty, show_figure

_COLUMNS = ["run", "kind", "score", "low", "high", "n", "chosen"]


def noise_of(context: PageContext, n_unlabelled: int) -> PublicNoise | None:
    """The noise of a public score of the chosen dataset."""
    return public_noise([loaders.standing(run.id).score for run in context.runs], n_unlabelled)


def show_ladder(context: PageContext, noise: PublicNoise | None) -> None:
    """Show the runs of each group, the highest score first."""
    standings = {run.id: loaders.standing(run.id) for run in context.runs}
    groups = group_runs(context.runs, standings)
    published = sorted((run for run in context.runs if run.public_score is not None), key=lambda run: -(run.public_score or 0))
    if not groups and not published:
        show_empty("No run has a score yet: none has labelled rows here, and none a recorded public score (Data, Runs).")
        return
    for number, group in enumerate(groups):
        _show_group(context, group, standings, f"ladder-{number}")
    if published:
        _show_published(context, published, noise)


def group_runs(runs: Sequence[Run], standings: Mapping[str, Standing]) -> list[list[Run]]:
    """The runs that have a headline, by labelled rows and by how they are scored; the largest group first.

    Inside a group the highest score comes first.
    """
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        found = standings[run.id]
        if found.score.headline.value.estimate == found.score.headline.value.estimate:
            groups[found.rows, found.score.whole.scored].append(run)
    ordered = [sorted(group, key=lambda run: -standings[run.id].score.headline.value.estimate) for group in groups.values()]
    return sorted(ordered, key=lambda group: (-len(group), -standings[group[0].id].score.whole.n_labelled))


def _show_group(context: PageContext, group: Sequence[Run], standings: Mapping[str, Standing], name: str) -> None:
    first = standings[group[0].id]
    headline, whole = first.score.headline, first.score.whole
    one_question = headline.genes is not None
    lines = {} if one_question else {NO_BIOLOGY: first.counts}
    table = pd.DataFrame([_line(context, run, standings[run.id]) for run in group], columns=_COLUMNS)
    over = f"{whole.n_labelled:,} labelled rows · {whole.scored}"
    st.markdown(f"**{as_text(over)}**")
    caption = f"{_dataset(context)} · {over} · {headline.name} · 95% interval {TWO_WAY}"
    if one_question:
        caption += f", over {headline.genes:,} genes"
    show_figure(
        ladder_plot.figure(table, lines, headline.name if one_question else "mean"), table, name, "The ladder of scores", caption
    )


def _line(context: PageContext, run: Run, found: Standing) -> dict[str, object]:
    value = found.score.headline.value
    return {
        **_name_run(context, run),
        "kind": "here",
        "score": value.estimate,
        "low": value.low,
        "high": value.high,
        "n": value.n,
    }


def _show_published(context: PageContext, runs: Sequence[Run], noise: PublicNoise | None) -> None:
    """Show the public scores, which are of other rows than any score here."""
    half, n = (noise.half, noise.rows) if noise else (float("nan"), None)
    table = pd.DataFrame(
        [
            {
                **_name_run(context, run),
                "kind": "public",
                "score": run.public_score,
                "low": (run.public_score or 0) - half,
                "high": (run.public_score or 0) + half,
                "n": n,
            }
            for run in runs
        ],
        columns=_COLUMNS,
    )
    how = noise.describe() if noise else "no interval: without a labelled run here the noise is not known"
    st.markdown("**Public scores**")
    caption = f"{_dataset(context)} · as recorded, mean of DE and DIR · {how}"
    show_figure(ladder_plot.figure(table, {}), table, "ladder-public", "Public scores", caption)


def _name_run(context: PageContext, run: Run) -> dict[str, object]:
    return {"run": run.name, "chosen": context.run is not None and run.id == context.run.id}


def _dataset(context: PageContext) -> str:
    return context.dataset.name if context.dataset else ""
