"""Figures of Overview that a report shows, too: the labels of a dataset, and the ladder of scores.

The ladder is one figure for runs in groups on the same rows that are scored alike, and one for
public scores.
"""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd

from core.base.texts import NO_BIOLOGY
from core.plots import drawing, forest_plot
from core.plots.printed import CaptionedFigure
from core.scoring.report_part import ReportPart, ShownRuns
from core.scoring.sentences import TWO_WAY
from core.scoring.standing import PublicNoise, Standing, headline, public_noise
from core.store.runs import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_OF_GROUP = 6  # runs that are drawn where all groups are in one figure


def labels_of_dataset(name: str, counts: pd.DataFrame) -> CaptionedFigure:
    """Return the numbers of labels in each split. counts: `store.datasets.counts` of the
    dataset."""
    rows, unlabelled = int(counts["rows"].sum()), int(counts["unlabelled"].sum())
    changed = int(counts[["up", "down", "de"]].to_numpy().sum())
    return CaptionedFigure(
        "Labels of the dataset",
        name,
        f"{rows - unlabelled:,} of {rows:,} rows have a label; {changed:,} of these have an"
        " effect.",
        f"{name} · {rows:,} rows · counts, so no interval",
        LabelBars(counts),
        counts.drop(columns="dataset"),
    )


def group_runs(runs: Sequence[Run], standings: Mapping[str, Standing]) -> list[list[Run]]:
    """Return the runs that have a headline, by labelled rows and by how they are scored; the
    largest group first.

    Inside a group the highest score comes first.
    """
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    values = {run.id: standings[run.id].score.headline.value.estimate for run in runs}
    best_first = [run for run in runs if not math.isnan(values[run.id])]
    best_first.sort(key=lambda run: -values[run.id])
    for run in best_first:
        groups[standings[run.id].rows, standings[run.id].score.whole.scored].append(run)
    return sorted(
        groups.values(),
        key=lambda group: (-len(group), -standings[group[0].id].score.whole.n_labelled),
    )


def of_all(
    dataset: str,
    groups: Sequence[Sequence[Run]],
    standings: Mapping[str, Standing],
    chosen: str | None,
    most: int = MOST_OF_GROUP,
) -> CaptionedFigure:
    """Return the runs of all groups in one figure, each group in order with the baselines without
    biology on its rows.

    The group whose best run scores highest comes first. dataset: its name. chosen: the id of the
    run that stands out. most: of a larger group the
    best are drawn, and the chosen one.
    """
    lines: list[dict[str, object]] = []
    for group in sorted(groups, key=lambda of: -standings[of[0].id].score.headline.value.estimate):
        drawn = [run for at, run in enumerate(group) if at < most or run.id == chosen]
        values = [
            (run.name, "here", run.id == chosen, standings[run.id].score.headline.value)
            for run in drawn
        ]
        first = standings[group[0].id].score
        name = f"{first.whole.n_labelled:,} labelled rows · {first.whole.scored}"
        if first.headline.genes is None:
            counts = standings[group[0].id].counts.headline.value
            values.append((NO_BIOLOGY, "baseline", False, counts))
        else:
            name += f", over {first.headline.counted}"
        name += f", {len(drawn)} of {len(group)} runs" if len(drawn) < len(group) else ""
        lines += [
            {
                "group": name,
                "run": run,
                "kind": kind,
                "chosen": is_chosen,
                **score.columns,
                "n": score.n,
            }
            for run, kind, is_chosen, score in sorted(values, key=lambda value: -value[-1].estimate)
        ]
    table = pd.DataFrame(lines)
    names = list(dict.fromkeys(standings[group[0].id].score.headline.name for group in groups))
    has_baseline = "baseline" in set(table["kind"])
    squares = " · squares use only how often genes were measured" if has_baseline else ""
    caption = f"{dataset} · {', '.join(names)} · 95% interval {TWO_WAY}{squares}"
    sentence = headline({run.name: standings[run.id] for group in groups for run in group})
    metric = "score" if len(names) > 1 else "mean" if has_baseline else names[0]
    chart = forest_plot.figure(table, metric, by="group", names="run")
    title, finding = "Runs beside the baselines without biology", sentence.partition(": ")[0]
    return CaptionedFigure(title, dataset, sentence, caption, chart, table, finding)


def of_published(
    dataset: str, runs: Sequence[Run], noise: PublicNoise | None, chosen: str | None
) -> CaptionedFigure:
    """Return the public scores of runs that have one, the highest first; they are of other rows
    than any score here."""
    half, n = (noise.half, noise.rows) if noise else (math.nan, math.nan)
    table = pd.DataFrame(
        {"run": run.name, "estimate": run.public_score, "chosen": run.id == chosen} for run in runs
    )
    table = table.assign(
        kind="public", low=table["estimate"] - half, high=table["estimate"] + half, n=n
    )
    how = noise.describe() if noise else "no interval: the noise is unknown without a labelled run"
    caption = f"{dataset} · as recorded, mean of DE and DIR · {how}"
    sentence = f"The highest public score is that of {runs[0].name}: {runs[0].public_score:.3f}."
    return CaptionedFigure(
        "Public scores",
        dataset,
        sentence,
        caption,
        forest_plot.figure(table, "mean", names="run"),
        table,
    )


def runs_with_public_score(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with a public score, the highest first."""
    return sorted(
        (run for run in runs if run.public_score is not None),
        key=lambda run: -(run.public_score or 0),
    )


def _make_ladder(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    standings = {run.id: shown.standing(run.id) for run in shown.runs}
    dataset, first = shown.dataset.name, shown.runs[0].id
    groups = group_runs(shown.runs, standings)
    most = MOST_OF_GROUP if len(groups) > 1 else len(shown.runs)
    figures = [of_all(dataset, groups, standings, first, most)] if groups else []
    if published := runs_with_public_score(shown.runs):
        noise = public_noise(
            [each.score for each in standings.values()], int(shown.counts["unlabelled"].sum())
        )
        figures.append(of_published(dataset, published, noise, first))
    return figures or [
        CaptionedFigure(
            "The ladder of scores", "", "No labels here: none of these runs has a score."
        )
    ]


LADDER = ReportPart(
    "ladder",
    "The ladder of scores",
    "The score of each run, beside the no-biology baseline.",
    30,
    _make_ladder,
)
LABELS = ReportPart(
    "labels",
    "Labels",
    "Numbers of rows by split and label.",
    10,
    lambda _, shown: [labels_of_dataset(shown.dataset.name, shown.counts)],
)


_LABEL_ORDER = ("up", "down", "de", "none", "unlabelled")


@dataclass(frozen=True, eq=False)
class LabelBars(drawing.PageFigure):
    """One stacked bar for each split, with the names of the labels on it.

    counts: one row for each split: split, and the numbers of rows up, down, de, none, unlabelled.
    """

    counts: pd.DataFrame

    @property
    def _labels(self) -> list[tuple[str, str, str]]:
        """The labels that occur: column, colour, sign and word."""
        labels = []
        for name in _LABEL_ORDER:
            if self.counts[name].sum():
                key = "unknown" if name == "unlabelled" else name
                words = f"{drawing.LABEL_SIGNS[key]} {drawing.LABEL_WORDS[key]}"
                labels.append((name, drawing.LABEL_COLOURS[key], words))
        return labels

    @cached_property
    def chart(self) -> go.Figure:
        import plotly.graph_objects as go

        figure = go.Figure()
        for name, colour, words in self._labels:
            figure.add_bar(
                y=self.counts["split"],
                x=self.counts[name],
                orientation="h",
                marker_color=colour,
                text=[f"{words} {n:,}" if n else "" for n in self.counts[name]],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont_color="#FFFFFF",
                hovertemplate=f"%{{y}}: {words} %{{x:,}} rows<extra></extra>",
            )
        figure.update_layout(barmode="stack", height=60 + 2 * drawing.ROW_PX * len(self.counts))
        figure.update_xaxes(title="rows")
        figure.update_yaxes(autorange="reversed")
        return figure

    def html(self) -> str:
        totals = self.counts[list(_LABEL_ORDER)].sum(axis=1)
        bars = []
        for (_, row), total in zip(self.counts.iterrows(), totals, strict=True):
            parts = "".join(
                f'<b style="flex:{row[name]};border-color:{colour}" title="{words} {row[name]:,}">'
                f"{words} {row[name]:,}</b>"
                for name, colour, words in self._labels
                if row[name]
            )
            bars.append(
                f"<span>{html.escape(str(row['split']))}</span>"
                f'<span style="width:{100 * total / totals.max():.2f}%">{parts}</span>'
            )
        return f'<div class="bars">{"".join(bars)}</div>'
