"""Twenty attributions of 60 rows on a server on which one tool moves the verdicts; tests/actions/test_attribution.py has one."""

from __future__ import annotations

from pathlib import Path

from core.actions.workspace import open_workspace
from core.config import Settings
from soak.conftest import Record
from tests import worlds
from tests.moving_evidence import MOVES, debate_and_attribute

SEEDS, ROWS, LEAST = 20, 60, 17


def test_that_tool_alone_is_confirmed(tmp_path: Path, record: Record) -> None:
    workspace = open_workspace(Settings(workspace=tmp_path, author="tester"))
    worlds.furnish(workspace)
    alone = covered = 0
    for seed in range(SEEDS):
        found = debate_and_attribute(workspace, f"split=train;sample={ROWS},seed={seed}", seed).found
        alone += [each.name for each in found.tools if each.is_confirmed] == [MOVES]
        covered += all(found.is_covered(each) for each in found.tools if each.name != MOVES)
        print(f"seed {seed}:", {each.name: (round(each.p_holm, 4), found.is_covered(each)) for each in found.tools}, flush=True)
    record(seeds=SEEDS, rows=ROWS, confirmed_alone=alone, floor_covers_the_rest=covered)
    assert alone >= LEAST
    assert covered >= LEAST
