"""The answers of the published run over the labelled pool, by kinds of arguments."""

from __future__ import annotations

import pytest

from core.actions.workspace import Workspace
from core.audit.kind_settings import KindSettings
from core.scoring.argument_kinds import find_kinds, load_texts

RUN = "track_a_logprobs_train2499"


@pytest.mark.soak
@pytest.mark.real
def test_kinds_of_the_pool_answers(real_workspace: Workspace) -> None:
    with real_workspace.store.read() as db:
        texts = load_texts(db, RUN)
    assert (texts.kind, len(texts.frame), texts.frame["pair_id"].nunique()) == ("answer", 7_497, 2_499)
    found = find_kinds(texts, KindSettings(k=4))
    assert sum(kind.n for kind in found.kinds) == 7_497
    assert found.hit is not None
    assert (found.hit.n, found.hit.value) == (2_499, pytest.approx(1_179 / 2_499))  # as Debates counts hits
    symbols = {name.casefold() for column in ("pert", "gene") for name in texts.frame[column]}
    words = {word for kind in found.kinds for term in kind.words for word in term.split()}
    assert words.isdisjoint(symbols)
