"""Experiments, tab Ablations."""

from __future__ import annotations

import pytest

from core.actions.workspace import Workspace
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of


@pytest.mark.soak
def test_an_ablation_is_run_and_says_what_came_out(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "experiments", tab="Ablations", ablation="program_priors")
    assert "Do genes of known programs" in text_of(app)
    assert "Computed in" not in text_of(app)
    app = press(app, "Run")
    assert not app.exception
    assert "In the mean of DE and DIR" in text_of(app)
    assert "changes are paired, against base rate" in text_of(app)
    assert "Computed in" in text_of(app)


@pytest.mark.soak
def test_what_an_ablation_lacks_is_said_with_how_to_get_it(visit: Visit, small_workspace: Workspace) -> None:
    app = visit(small_workspace, "experiments", tab="Ablations", ablation="embedding_ladder")
    assert "It needs a gene space" in text_of(app)
    assert not any(button.label == "Run" for button in app.button)
    app = visit(small_workspace, "experiments", tab="Ablations", ablation="rounds")
    assert "differ only in rounds" in text_of(app)
