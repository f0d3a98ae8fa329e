"""What a person does to a walk-through: each change is checked, refused to a reader, and in the audit log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.base.errors import InputError, NotFound
from core.features.sharing import walks
from core.features.sharing.walks import Stop
from core.runs.workspace import Workspace
from core.store import changes, runs


@pytest.fixture
def stop(small_workspace: Workspace) -> Stop:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate")
    address = f"./rows?run={run.id}&row=Pa_Gb"
    return Stop(
        dataset=run.dataset,
        walk="Monday",
        title="Pa ⟶ Gb",
        address=address,
        run=run.id,
        pair_id="Pa_Gb",
    )


def sentences(workspace: Workspace, stop: Stop) -> list[str]:
    with workspace.store.read() as db:
        return [one.sentence for one in walks.of_walk(db, stop.dataset, stop.walk)]


def test_stops_are_added_worded_moved_and_taken_out(small_workspace: Workspace, stop: Stop) -> None:
    keys = [walks.add_stop(small_workspace, replace(stop, sentence=word)) for word in "abc"]
    walks.set_sentence(small_workspace, keys[1], "x" * 400)
    assert sentences(small_workspace, stop) == ["a", "x" * 400, "c"]
    walks.set_sentence(small_workspace, keys[1], "  two\n lines ")
    walks.move_stop(small_workspace, keys[2], -1)
    assert sentences(small_workspace, stop) == ["a", "c", "two lines"]
    walks.move_stop(small_workspace, keys[2], -5)
    walks.move_stop(small_workspace, keys[2], -1)  # it is the first already
    assert sentences(small_workspace, stop) == ["c", "a", "two lines"]
    walks.delete_stop(small_workspace, keys[0])
    assert sentences(small_workspace, stop) == ["c", "two lines"]
    figure = {"title": "é", "chart": {"data": [1.5, None]}}
    drawn = replace(stop, walk="b", run=None, pair_id=None, figure=figure)
    key = walks.add_stop(small_workspace, drawn)
    with small_workspace.store.read() as db:
        [found] = walks.of_walk(db, stop.dataset, "b")
        assert replace(found, added_at=None) == replace(drawn, id=key, position=1, author="tester")
        assert walks.list_all(db) == [(stop.dataset, "Monday", 2), (stop.dataset, "b", 1)]
        assert [line for line in changes.latest(db)["action"] if "stop" in line][:3] == [
            "add stop",
            "delete stop",
            "move stop",
        ]
        assert walks.find_walk(db, "Monday")[0] == stop.dataset
        with pytest.raises(
            NotFound, match=r"walk-through 'Tuesday': not in this workspace, .*Monday"
        ):
            walks.find_walk(db, "Tuesday")
    assert walks.delete_walk(small_workspace, stop.dataset, "Monday") == 2
    with pytest.raises(NotFound, match="Monday"):
        walks.delete_walk(small_workspace, stop.dataset, "Monday")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"address": "javascript:alert(1)"}, "expected that of a view"),
        ({"address": "https://elsewhere.example/rows?x=1"}, "expected that of a view"),
        ({"address": './rows?x="><script>'}, "expected that of a view"),
        ({"walk": " "}, "only blanks"),
        ({"sentence": "x" * 401}, "401 characters, expected 400 at most"),
        ({"figure": {"chart": "x" * 4_000_001}}, "expected 4,000,000 at most"),
    ],
)
def test_what_cannot_be_a_stop_is_refused(
    small_workspace: Workspace, stop: Stop, changed: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        walks.add_stop(small_workspace, replace(stop, **changed))
    assert sentences(small_workspace, stop) == []
