"""The tabs of Scores on genes and perturbations, three classes, and distance; and what Compare says of its verdict."""

from __future__ import annotations

import re

import pytest

from core.actions.workspace import Workspace
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

RUN, BASELINE = "simulated debate", "simulated collapsed debate"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("Genes and perturbations", r"genes have both classes, [\d,]+ have one.*chance explains \d+%"),
        ("Three classes", r"Hits per hundred validated rows"),
        ("Distance", r"The mean of “|equally far|Distances need a gene space"),
    ],
)
def test_each_tab_says_what_it_found(glance: Visit, little_demo: Workspace, part: str, said: str) -> None:
    app = glance(little_demo, "scores", run=RUN, part=part)
    assert not app.exception
    assert re.search(said, text_of(app), re.DOTALL)


@pytest.mark.soak
def test_compare_counts_what_was_looked_at_and_varies_the_verdict(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "compare", run=RUN, baseline=the_run(little_demo, BASELINE).id, varied="true")
    assert not app.exception
    text = text_of(app)
    looked = r"(only comparison|One of [\d,]+ comparisons) of runs on this dataset so far.*: p = "
    assert re.search(looked, text)
    assert re.search(r"The verdict “[\w ]+” (stays in all 2 variants|depends on them)", text)
    variants = next(each.value for each in app.dataframe if "variant" in each.value)
    assert variants["variant"].tolist() == ["as sampled and labelled", "natural base rate"]
