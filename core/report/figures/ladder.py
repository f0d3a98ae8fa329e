"""The ladder of scores: one figure for runs in groups on the same rows that are scored alike, and one for public scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd

from core.plots import scores
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.public_noise import PublicNoise, public_noise
from core.scoring.run_scores import RunScore
from core.scoring.sentences import TWO_WAY
from core.scoring.standing import Standing, headline
from core.stats.intervals import Interval
from core.store.runs import Run
from core.texts import NO_BIOLOGY

MOST_OF_GROUP = 6  # runs that are drawn where all groups are in one figure
_COLUMNS = ["run", "kind", "estimate", "low", "high", "n", "chosen"]


def group_runs(runs: Sequence[Run], standings: Mapping[str, Standing]) -> list[list[Run]]:
    """Return the runs that have a headline, by labelled rows and by how they are scored; the largest group first.

    Inside a group the highest score comes first.
    """
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        found = standings[run.id]
        if found.score.headline.value.estimate == found.score.headline.value.estimate:
            groups[found.rows, found.score.whole.scored].append(run)
    ordered = [sorted(group, key=lambda run: -standings[run.id].score.headline.value.estimate) for group in groups.values()]
    return sorted(ordered, key=lambda group: (-len(group), -standings[group[0].id].score.whole.n_labelled))


def describe_rows(first: Standing) -> str:
    """Return the rows of a group and how they are scored."""
    return f"{first.score.whole.n_labelled:,} labelled rows · {first.score.whole.scored}"


def _line(run: Run, found: Standing, chosen: str | None) -> dict[str, object]:
    return {"run": run.name, "chosen": run.id == chosen, "kind": "here", **_numbers(found.score.headline.value)}


def _numbers(shown: Interval) -> dict[str, object]:
    return {**shown.columns, "n": shown.n}


def of_all(
    dataset: str,
    groups: Sequence[Sequence[Run]],
    standings: Mapping[str, Standing],
    counts: Mapping[str, RunScore],
    chosen: str | None,
    most: int = MOST_OF_GROUP,
) -> CaptionedFigure:
    """Return the runs of all groups in one figure, each group in order with the baselines without biology on its rows.

    The group whose best run scores highest comes first. dataset: its name. counts: of the first run of each group, by its id.
    chosen: the id of the run that stands out. most: of a larger group the best are drawn, and the chosen one.
    """
    lines: list[dict[str, object]] = []
    for group in sorted(groups, key=lambda of: -standings[of[0].id].score.headline.value.estimate):
        drawn = [run for at, run in enumerate(group) if at < most or run.id == chosen]
        of_group = [_line(run, standings[run.id], chosen) for run in drawn]
        first = standings[group[0].id]
        name = describe_rows(first)
        if first.score.headline.genes is None:
            baseline = counts[group[0].id].headline.value
            of_group.append({"run": NO_BIOLOGY, "kind": "baseline", "chosen": False, **_numbers(baseline)})
        else:
            name += f", over {first.score.headline.counted}"
        some = f", {len(drawn)} of {len(group)} runs" if len(drawn) < len(group) else ""
        ordered = sorted(of_group, key=lambda line: -float(str(line["estimate"])))
        lines += [{"group": f"{name}{some}", **line} for line in ordered]
    table = pd.DataFrame(lines, columns=["group", *_COLUMNS])
    names = list(dict.fromkeys(standings[group[0].id].score.headline.name for group in groups))
    has_baseline = bool((table["kind"] == "baseline").any())
    squares = " · squares use only how often genes were measured" if has_baseline else ""
    caption = f"{dataset} · {', '.join(names)} · 95% interval {TWO_WAY}{squares}"
    sentence = headline({run.name: standings[run.id] for group in groups for run in group})
    title = "score" if len(names) > 1 else "mean" if has_baseline else names[0]
    chart = scores.figure(table, title, by="group", names="run")
    finding = sentence.partition(": ")[0]
    return CaptionedFigure("Runs beside the baselines without biology", dataset, sentence, caption, chart, table, finding)


def of_published(dataset: str, runs: Sequence[Run], noise: PublicNoise | None, chosen: str | None) -> CaptionedFigure:
    """Return the public scores of runs that have one, the highest first; they are of other rows than any score here."""
    half, n = (noise.half, noise.rows) if noise else (float("nan"), float("nan"))
    table = pd.DataFrame([_public_line(run, half, n, chosen) for run in runs], columns=_COLUMNS)
    how = noise.describe() if noise else "no interval: the noise is unknown without a labelled run"
    caption = f"{dataset} · as recorded, mean of DE and DIR · {how}"
    sentence = f"The highest public score is that of {runs[0].name}: {runs[0].public_score:.3f}."
    return CaptionedFigure("Public scores", dataset, sentence, caption, scores.figure(table, "mean", names="run"), table)


def _public_line(run: Run, half: float, n: float, chosen: str | None) -> dict[str, object]:
    score = run.public_score or 0
    public = {"kind": "public", "estimate": run.public_score, "low": score - half, "high": score + half, "n": n}
    return {"run": run.name, "chosen": run.id == chosen, **public}


def runs_with_public_score(runs: Sequence[Run]) -> list[Run]:
    """Return the runs with a public score, the highest first."""
    return sorted((run for run in runs if run.public_score is not None), key=lambda run: -(run.public_score or 0))


def _make(material: Material) -> Sequence[CaptionedFigure]:
    standings = {run.id: material.standing(run.id) for run in material.runs}
    dataset, first = material.dataset.name, material.runs[0].id
    groups = group_runs(material.runs, standings)
    counts = {group[0].id: material.count_score(group[0].id) for group in groups}
    most = MOST_OF_GROUP if len(groups) > 1 else len(material.runs)
    found = [of_all(dataset, groups, standings, counts, first, most)] if groups else []
    published = runs_with_public_score(material.runs)
    if published:
        noise = public_noise([each.score for each in standings.values()], int(material.counts["unlabelled"].sum()))
        found.append(of_published(dataset, published, noise, first))
    return found or [CaptionedFigure("The ladder of scores", "", "No labels here: none of these runs has a score.")]


FIGURE = FigureKind("ladder", "The ladder of scores", "The score of each run, beside the no-biology baseline.", 30, _make)
