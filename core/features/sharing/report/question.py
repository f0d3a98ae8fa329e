"""The question that a report answers: is a run better than another, or what does it get wrong?
Which figures come first, the finding as a title, the answer, and a draft of the abstract.

Everything is drafted from verdicts that pages show too; a person's own texts are in the selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.base.texts import count_text
from core.features.sharing.report.material import Byline, Material
from core.features.sharing.report.selection import ReportSelection
from core.features.sharing.report.walk import ShownStop, figures_of
from core.plots.printed import CaptionedFigure
from core.scoring.sentences import interval_text
from core.scoring.standing import headline

MOST_FIGURES = 6  # before the appendix, unless somebody chose the figures
_SENTENCES = 4  # of an answer in an abstract
# The kinds of figures that answer a question, the most telling first; the others follow in the
# order of a report.
_IS_BETTER = ("paired_changes", "ladder", "baselines", "roc_curves", "slices", "rank_scatter")
_GETS_WRONG = ("baselines", "slices", "reliability", "roc_curves", "brief_lengths", "score_spread")


def question_text(material: Material) -> str:
    """Return the question: of the comparisons where some are chosen, else what the first run gets
    wrong."""
    if material.comparisons:
        return "; ".join(material.comparison(a.id, b.id).title for a, b in material.comparisons)
    return f"What does {material.runs[0].name} get wrong?"


def find_title(material: Material, selection: ReportSelection) -> str:
    """Return the finding as a title: the author's, else the verdict without its numbers."""
    if selection.title:
        return selection.title
    if material.comparisons:
        a, b = material.comparisons[0]
        return material.comparison(a.id, b.id).finding
    if (counted := _count_misses(material)) is not None:
        return counted
    return (
        headline({run.name: material.standing(run.id) for run in material.runs})
        .partition(": ")[0]
        .removesuffix(".")
    )


def _count_misses(material: Material) -> str | None:
    """Return how many rows the first run calls wrong, of those that have a call and a label; None
    if there is none."""
    called = material.outcomes.dropna()
    wrong = int((called == "miss").sum())
    return (
        None
        if called.empty
        else f"{material.runs[0].name} calls {wrong:,} of {len(called):,} rows wrong"
    )


def answer_sentences(material: Material) -> list[str]:
    """Return the answer to the question, the verdict first."""
    if material.comparisons:
        comparisons = [material.comparison(a.id, b.id) for a, b in material.comparisons]
        return [sentence for each in comparisons for sentence in (each.sentence, *each.remarks)]
    counted = _count_misses(material)
    first = [] if counted is None else [f"{counted}, by its likeliest label."]
    run = material.runs[0]
    found = material.score(run.id)
    if found.whole.n_labelled == 0:
        return [*first, f"{run.name}: no labels here, so its score is unknown."]
    shown = found.headline
    scored = (
        f"{run.name} scores {shown.name} {interval_text(shown.value)} on {found.whole.n_labelled:,}"
        " labelled rows."
    )
    verdicts = material.standing(run.id).verdicts
    return [*first, scored, verdicts.de.describe("DE"), verdicts.dir.describe("DIR")]


def find_abstract(material: Material, selection: ReportSelection) -> tuple[str, bool]:
    """Return the abstract, and whether it is an unedited draft."""
    if selection.abstract:
        return selection.abstract, False
    # The draft: the question and rows, the answer, and all runs beside the baselines without
    # biology
    data = material.dataset
    about = ", ".join(filter(None, (data.organism, data.context)))
    where = f" ({about})" if about else ""
    labelled = int(material.counts["rows"].sum() - material.counts["unlabelled"].sum())
    simulated = " These data are simulated." if data.origin == "simulated" else ""
    asks = (
        f"{question_text(material)} The dataset {data.name}{where} has {labelled:,} labelled rows."
    )
    said = answer_sentences(material)[:_SENTENCES]
    beside = headline({run.name: material.standing(run.id) for run in material.runs})
    return " ".join([f"{asks}{simulated}", *said, *([] if beside in said else [beside])]), True


def kinds_in_order(material: Material, kinds: Sequence[str]) -> list[str]:
    """Return kinds of figures, those that answer the question first."""
    first = [
        kind for kind in (_IS_BETTER if material.comparisons else _GETS_WRONG) if kind in kinds
    ]
    return [*first, *(kind for kind in kinds if kind not in first)]


Keyed = tuple[str, CaptionedFigure]  # a figure by the key of its place
Sections = Mapping[str, Sequence[Keyed]]  # kind of figure → its figures


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A report of a name. figures: those that come first, in order. appendix: the others, by kind.
    stops: of the walk-through that is in it, by the keys of their places. base: of the
    addresses of their views."""

    name: str
    material: Material
    selection: ReportSelection
    byline: Byline
    figures: Sequence[Keyed]
    appendix: Sections
    stops: Mapping[str, ShownStop]
    base: str

    @property
    def title(self) -> str:
        """The finding."""
        return find_title(self.material, self.selection)

    @property
    def subtitle(self) -> str:
        """Authors, day, dataset, the report's name, and how many runs and rows are shown."""
        n, rows = len(self.material.runs), len(self.material.chosen_rows)
        shown = f"{count_text(rows, 'row')} in full" if rows else ""
        names = f"{count_text(n, 'run')}: {', '.join(run.name for run in self.material.runs)}"
        made = Byline(self.selection.authors or self.byline.authors, self.byline.day).words
        return " · ".join(
            filter(None, (made, f"dataset {self.material.dataset.name}", names, shown, self.name))
        )

    @property
    def drawn_first(self) -> dict[str, CaptionedFigure]:
        """The figures of stops and those that come first, by the keys of their places."""
        return {
            **figures_of(self.stops),
            **{key: one for key, one in self.figures if one.drawn is not None},
        }


def arrange(selection: ReportSelection, sections: Sections) -> tuple[list[Keyed], Sections]:
    """Return the main figures and the appendix.

    Of the usual kinds, six that answer the question are main figures; of chosen kinds, all are.
    """
    made = [keyed for figures in sections.values() for keyed in figures]
    if selection.figures:
        return made, {}
    first = [keyed for keyed in made if keyed[1].drawn is not None][:MOST_FIGURES]
    keys = {key for key, _ in first}
    rest = {
        kind: [keyed for keyed in figures if keyed[0] not in keys]
        for kind, figures in sections.items()
    }
    return first, {kind: figures for kind, figures in rest.items() if figures}
