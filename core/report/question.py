"""The question that a report answers: which figures come first, the finding as a title, the answer, and a draft of the abstract.

Everything is drafted from verdicts that pages show too; a person's own texts are in the selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from core.experiments.ledger_words import summary_sentences
from core.report.figures.paired_changes import verdict_title
from core.report.material import Material
from core.report.selection import Question, ReportSelection
from core.scoring.comparison_words import comparison_sentences
from core.scoring.control_words import verdict_sentence
from core.scoring.sentences import interval_text
from core.scoring.standing import headline
from core.store.runs import Run

MOST_FIGURES = 6  # before the appendix, unless somebody chose the figures
_SENTENCES = 4  # of an answer in an abstract
TITLES: Mapping[Question, str] = MappingProxyType(
    {
        "better": "Is one run better than another?",
        "wrong": "What does this run get wrong?",
        "idea": "Does an idea survive?",
    }
)
# The kinds of figures that answer a question, the most telling first; the others follow in the order of a report.
FIRST: Mapping[Question, tuple[str, ...]] = MappingProxyType(
    {
        "better": ("paired_changes", "ladder", "baselines", "roc_curves", "slices", "rank_scatter"),
        "wrong": ("baselines", "slices", "reliability", "roc_curves", "brief_lengths", "score_spread"),
        "idea": ("ledger", "ladder", "paired_changes", "baselines", "roc_curves", "slices"),
    }
)


def question_text(material: Material, question: Question) -> str:
    """Return the question with the names of the runs."""
    first = material.runs[0].name
    if question == "better" and material.comparisons:
        return "; ".join(f"Is {b.name} better than {a.name}?" for a, b in material.comparisons)
    return {"better": f"Is {first} better than the baselines without biology?", "wrong": f"What does {first} get wrong?"}.get(
        question, TITLES[question]
    )


def find_title(material: Material, selection: ReportSelection) -> str:
    """Return the finding as a title: the author's, else the verdict without its numbers."""
    return selection.title or _draft_title(material, selection.asks)


def _draft_title(material: Material, question: Question) -> str:
    if question == "idea":
        return answer_sentences(material, question)[0].removesuffix(".")
    if question == "better" and material.comparisons:
        a, b = material.comparisons[0]
        return verdict_title(material.comparison(a.id, b.id), a.name, b.name)
    run = material.runs[0]
    misses = _count_misses(material)
    if question == "wrong" and misses is not None:
        return f"{run.name} calls {misses[0]:,} of {misses[1]:,} rows wrong"
    return headline({run.name: material.standing(run.id) for run in material.runs}).partition(": ")[0].removesuffix(".")


def _count_misses(material: Material) -> tuple[int, int] | None:
    """Return how many rows the first run calls wrong, of how many that have a call and a label; None if there is none."""
    called = material.outcomes.dropna()
    return None if called.empty else (int((called == "miss").sum()), len(called))


def answer_sentences(material: Material, question: Question) -> list[str]:
    """Return the answer to the question, the verdict first."""
    if question == "idea":
        return summary_sentences(material.ledger_lines) or ["No hypothesis is in the ledger."]
    if question == "better" and material.comparisons:
        found = ((comparison_sentences(material.comparison(a.id, b.id), a.name, b.name)) for a, b in material.comparisons)
        return [sentence for sentences in found for sentence in sentences]
    run = material.runs[0]
    misses = _count_misses(material) if question == "wrong" else None
    counted = [] if misses is None else [f"{run.name} calls {misses[0]:,} of {misses[1]:,} rows wrong, by its likeliest label."]
    return [*counted, *_score_sentences(material, run)]


def _score_sentences(material: Material, run: Run) -> list[str]:
    """Return sentences on a run's score, and whether it beats the baselines without biology."""
    found = material.score(run.id)
    if found.whole.n_labelled == 0:
        return [f"{run.name}: no labels here, so its score is unknown."]
    shown = found.headline
    scored = f"{run.name} scores {shown.name} {interval_text(shown.value)} on {found.whole.n_labelled:,} labelled rows."
    verdicts = material.standing(run.id).verdicts
    return [scored, *(f"{verdict_sentence(name, each)}." for name, each in (("DE", verdicts.de), ("DIR", verdicts.dir)))]


def find_abstract(material: Material, selection: ReportSelection) -> tuple[str, bool]:
    """Return the abstract, and whether it is an unedited draft."""
    if selection.abstract:
        return selection.abstract, False
    return draft_abstract(material, selection.asks), True


def draft_abstract(material: Material, question: Question) -> str:
    """Return the draft: the question and rows, the answer, and all runs beside the baselines without biology."""
    data = material.dataset
    about = ", ".join(filter(None, (data.organism, data.context)))
    where = f" ({about})" if about else ""
    labelled = int(material.counts["rows"].sum() - material.counts["unlabelled"].sum())
    simulated = " These data are simulated." if data.origin == "simulated" else ""
    asks = f"{question_text(material, question)} The dataset {data.name}{where} has {labelled:,} labelled rows."
    said = answer_sentences(material, question)[:_SENTENCES]
    beside = headline({run.name: material.standing(run.id) for run in material.runs})
    return " ".join([f"{asks}{simulated}", *said, *([] if beside in said else [beside])])


def kinds_in_order(question: Question, kinds: Sequence[str]) -> list[str]:
    """Return kinds of figures, those that answer the question first."""
    first = [kind for kind in FIRST[question] if kind in kinds]
    return [*first, *(kind for kind in kinds if kind not in first)]
