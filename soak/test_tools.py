"""Twenty experiments of 60 rows on a server on which one tool moves the verdicts; tests/features/experiments has one."""

from __future__ import annotations

from pathlib import Path

from soak.conftest import Record
from tests import worlds
from tests.moving_evidence import MOVES, leave_tools_out

SEEDS, ROWS, LEAST = 20, 60, 17


def test_that_tool_alone_is_shown(tmp_path: Path, record: Record) -> None:
    workspace = worlds.workspace_in(tmp_path)
    worlds.furnish(workspace)
    alone = 0
    for seed in range(SEEDS):
        result = leave_tools_out(workspace, f"split=train;sample={ROWS},seed={seed}", seed).result
        alone += [arm.name for arm in result.arms if arm.is_shown] == [f"without {MOVES}"]
        print(
            f"seed {seed}:", {arm.name: round(arm.p_holm, 4) for arm in result.arms[1:]}, flush=True
        )
    record(seeds=SEEDS, rows=ROWS, shown_alone=alone)
    assert alone >= LEAST
