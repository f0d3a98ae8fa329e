"""Walk-throughs in the store: stops in order, by dataset and name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.features.sharing import walk_tables
from core.features.sharing.walk_tables import Stop
from core.runs.workspace import Workspace
from core.store import runs


@pytest.mark.soak
def test_stops_come_back_as_they_were_in_order(small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        run = runs.find(db, "debate")
        first = Stop(
            dataset=run.dataset,
            walk="a",
            title="Pa ⟶ Gb",
            address="./rows?row=Pa_Gb",
            run=run.id,
            pair_id="Pa_Gb",
        )
        second = replace(
            first,
            title="f",
            run=None,
            pair_id=None,
            figure={"title": "é", "chart": {"data": [1.5, None]}},
        )
        keys = [
            walk_tables.add(db, stop, "Ada") for stop in (first, second, replace(first, walk="b"))
        ]
        found = walk_tables.of_walk(db, run.dataset, "a")
        assert [replace(one, id="", position=0, author="", added_at=None) for one in found] == [
            first,
            second,
        ]
        assert [(one.id, one.position, one.author) for one in found] == [
            (keys[0], 1, "Ada"),
            (keys[1], 2, "Ada"),
        ]
        walk_tables.order(db, [keys[1], keys[0]])
        walk_tables.set_sentence(db, keys[0], "Look.")
        assert [(one.id, one.sentence) for one in walk_tables.of_walk(db, run.dataset, "a")] == [
            (keys[1], ""),
            (keys[0], "Look."),
        ]
        assert walk_tables.list_all(db) == [(run.dataset, "a", 2), (run.dataset, "b", 1)]
        walk_tables.delete(db, keys[1])
        assert walk_tables.find(db, keys[1]) is None
        third = walk_tables.add(db, second, "Ada")
        assert [one.id for one in walk_tables.of_walk(db, run.dataset, "a")] == [keys[0], third]
        assert walk_tables.delete_walk(db, run.dataset, "a") == 2
        assert walk_tables.list_all(db) == [(run.dataset, "b", 1)]
