"""The methods text: how the runs were scored, and the definitions of all that is shown, in the
words of the app."""

from __future__ import annotations

import json

import pandas as pd

from core.base.environment import describe
from core.base.records import to_json
from core.base.texts import NO_BIOLOGY
from core.features.sharing.report.document import Html, element, join, lines, table
from core.features.sharing.report.material import Material, dataset_text, run_facts
from core.features.sharing.report.selection import ReportSelection
from core.methods.brief_checks import BARE, SHORT
from core.scoring.controls import PERMUTATIONS, SEED
from core.scoring.sentences import FOLDS, LEAVE_ONE_OUT, PROBABILITY_HELP, RANK_HELP, SCORE_HELP
from core.store.runs import Run

_AUROC = (
    "The probability that a random positive row is ranked above a random negative one, with ties"
    " counting half; 0.5 is chance."
)
_INTERVALS = (
    "All are 95%. Rows that share a perturbation or a gene are not independent. So the shown"
    " interval is the widest of those with rows, perturbations, genes, or both as independent"
    " units. It uses Student's t with Satterthwaite's degrees of freedom; limits of a score are"
    " computed on the logit scale. There is no interval if the standard error depends on too few"
    " rows, or on two or three perturbations or genes. Variances are DeLong's and their clustered"
    " forms; the two-way variance is V(perturbations) + V(genes) − V(rows)."
)
_COMPARISON = (
    "Two runs are compared on the rows that both cover, always paired, inside the cells of either."
    " P(better) is from the interval shown; the detectable difference is the smallest that a"
    " two-sided test at 5% shows with 80% power."
)
_CALIBRATION = (
    "Predictions are cut into equally wide bins. The expected calibration error is the mean"
    " distance of predicted probability and observed share, weighted by rows; noise alone makes it"
    " positive, so a value corrected for noise is beside it. The Brier score is the mean squared"
    " error."
)
_STAND_INS = (
    "A row that a method does not cover gets the permitted base rates, is flagged, and counts in"
    " the score. The score without such rows is given second."
)
_BRIEFS = (
    f"A brief argues if it has {SHORT} characters or more and does not open with an answer to the"
    f" multiple-choice question. A bare letter has {BARE} characters or fewer. These checks are"
    " rules on the stored text."
)
_BASELINE = (
    f"The {NO_BIOLOGY} is fixed beforehand. For DE it is count-only, made from the number of"
    " measurements of each gene. For DIR it is the rule that less often measured genes go up."
    " Neither sees a label. Permuted labels: the run's own score after permuting labels among the"
    f" rows of each gene or perturbation, mean and 95% range of {PERMUTATIONS}, seed {SEED}."
)
_SLICES = (
    "A slice's score is that of its rows alone; its cost is how much it lowers the whole score"
    " beyond its share of rows, and costs sum to 0."
)
_WITHIN = (
    "Within a gene, only pairs of rows of the same gene count; a mean over genes counts each gene"
    " with both classes equally."
)
_DEFINITIONS: list[tuple[str, object]] = [
    *PROBABILITY_HELP.items(),
    ("Rank scores", RANK_HELP),
    ("AUROC", _AUROC),
    *SCORE_HELP.items(),
    ("Folds and cells", FOLDS),
    ("Leave-one-out", LEAVE_ONE_OUT),
    ("Intervals", _INTERVALS),
    (NO_BIOLOGY.capitalize(), _BASELINE),
    ("Slices", _SLICES),
    ("Within a gene", _WITHIN),
    ("Calibration", _CALIBRATION),
    ("Stand-ins", _STAND_INS),
    ("Comparisons", _COMPARISON),
    ("Briefs", _BRIEFS),
]


def show_methods(material: Material) -> Html:
    """Return how each run was scored, then the definitions."""
    scored = [
        (run.name, " ".join(material.score(run.id).caveats or ("No labels here, so no score.",)))
        for run in material.runs
    ]
    return join(
        [
            element("h3", "How the runs were scored"),
            lines(scored),
            element("h3", "Definitions"),
            lines(_DEFINITIONS),
        ]
    )


def show_provenance(material: Material, selection: ReportSelection) -> Html:
    """Return version, files, runs with their sources, and the choices."""
    return join(
        [
            lines(
                [("Made with PerturbDesk", describe()), ("Dataset", dataset_text(material.dataset))]
            ),
            element("h3", "Imported files"),
            _files(material),
            element("h3", "Runs"),
            *(_run(material, run) for run in _all_runs(material)),
            element("h3", "What was chosen"),
            element("pre", _json(to_json(selection))),
        ]
    )


def _files(material: Material) -> Html:
    if not material.files:
        return element("p", "No file was imported: these rows were made here.")
    frame = pd.DataFrame(
        [
            (each.file, each.kind.replace("_", " "), each.rows, each.rejected, each.sha256)
            for each in material.files
        ],
        columns=["file", "kind", "rows", "rejected", "SHA-256"],
    )
    return element("div", table(frame), class_="files")


def _all_runs(material: Material) -> list[Run]:
    """Return the chosen runs, those that they are compared with, and the ancestors of all."""
    compared = (run for pair in material.comparisons for run in pair)
    return list({run.id: run for run in (*material.runs, *compared, *material.ancestors)}.values())


def _run(material: Material, run: Run) -> Html:
    names = {each.id: each.name for each in _all_runs(material)}
    parents = ", ".join(names.get(key, f"{key} (not in this workspace)") for key in run.parents)
    facts = [*run_facts(run).items(), ("Made from", parents or "–")]
    spec = element(
        "details", element("summary", "Specification"), element("pre", _json(dict(run.spec)))
    )
    return join([element("h4", run.name), lines(facts), spec])


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
