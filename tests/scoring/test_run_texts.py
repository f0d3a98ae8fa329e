"""The texts of one kind of a run."""

from __future__ import annotations

import pytest

from core.actions.imports import import_upload
from core.actions.workspace import Workspace
from core.errors import InputError
from core.scoring.run_texts import load_texts
from tests import cases

RUN = "simulated debate"


def test_texts_of_a_run(demo_workspace: Workspace) -> None:
    with demo_workspace.store.read() as db:
        texts = load_texts(db, RUN)
        assert (texts.kind, texts.name, len(texts.frame)) == ("brief", "briefs", 4800)
        assert set(texts.frame["outcome"]) == {"hit", "miss"}
        with pytest.raises(InputError, match="answer, expected brief, rebuttal"):
            load_texts(db, RUN, "answer")


def test_a_run_without_texts_is_refused(small_workspace: Workspace) -> None:
    rows = [(pair, 0.3, 0.1, "none") for pair in ("Pa_Ga", "Pa_Gb", "Pb_Ga", "Pb_Gb")]
    assert import_upload(small_workspace, cases.submission(rows), "silent.csv").kind != "failed"
    with small_workspace.store.read() as db, pytest.raises(InputError, match="silent: it has no texts"):
        load_texts(db, "silent")
