"""The ledger of hypotheses: the scores of registered hypotheses, in order, with the noise of one score."""

from __future__ import annotations

from collections.abc import Sequence

from core.experiments.ledger import LedgerLine, score_histories
from core.experiments.ledger_words import family_text, summary_sentences
from core.plots import drawing, score_history
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material

TITLE = "Scores of registered hypotheses"


def histories(lines: Sequence[LedgerLine]) -> list[CaptionedFigure]:
    """Return one figure for each source, dataset and way to measure: scores on different rows share no axis."""
    found = []
    for (source, dataset, where, metric), table in score_histories(lines).items():
        confirmed = int((table["verdict"] == "confirmed").sum())
        family = family_text((source, dataset))
        best = int(table["score"].to_numpy().argmax())
        sentence = (
            f"{family}: {confirmed:,} of {int(table['verdict'].notna().sum()):,} steps confirmed; the highest score is that "
            f"of {table['label'].iloc[best]}, {table['score'].iloc[best]:.3f}."
        )
        n = table["n"].dropna()
        rows = drawing.rows_text(n.iloc[0], metric) if len(n) and n.nunique() == 1 else "numbers of rows differ, see the table"
        band = "band: 95% interval of one score" if table["low"].notna().any() else "no interval: the noise of a score is unknown"
        chart = score_history.figure(table, metric)
        caption = f"{family} · {where} · {rows} · {band} · star: confirmed, green: the best so far"
        found.append(CaptionedFigure(TITLE, family, sentence, caption, chart, table))
    return found


def _make(material: Material) -> Sequence[CaptionedFigure]:
    lines = material.ledger_lines
    if not lines:
        return [CaptionedFigure(TITLE, "", "No hypothesis is in the ledger.")]
    words = CaptionedFigure("What the ledger says", "", " ".join(summary_sentences(lines)))
    return [words, *histories(lines)]


FIGURE = FigureKind(
    "ledger", "The ledger of hypotheses", "Which ideas survived, with corrected p, and the scores in order.", 95, _make
)
