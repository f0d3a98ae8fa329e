"""What the feature perturbqa brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Tab

FEATURE = Feature(
    "perturbqa",
    "Simple methods on a labelled split, beside published scores of PerturbQA; SUMMER and"
    " descriptions of gene sets.",
    tabs=(Tab("scores", "Baselines", "core.features.perturbqa.tab:show_where_possible"),),
    commands={
        "baselines": Command(
            "core.features.perturbqa.commands:app", "Score simple methods on a split.", "Judge"
        ),
        "gene-sets": Command(
            "core.features.perturbqa.commands:app",
            "Let a model describe what the genes of a set share.",
            "Data",
        ),
    },
    needs=("neighbours",),
    methods=("core.features.perturbqa.methods.summer:METHOD",),
)
