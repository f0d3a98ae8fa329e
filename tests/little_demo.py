"""The simulated demo at a sixth of its size: the same splits, runs and space, with fewer rows to compute from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from core.features.demo import actions as demo
from core.features.demo import world as demo_world
from core.features.demo.actions import make_demo
from core.features.demo.world import SplitSize
from core.runs.workspace import Workspace

LABELLED_ROWS, DEBATED_ROWS = (
    1_280,
    400,
)  # of the split "train", and those of them that the two labelled runs are about


@contextmanager
def at_a_sixth() -> Iterator[None]:
    """Meanwhile the demo that is made is the little one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "SAMPLE", DEBATED_ROWS)
        patch.setattr(
            demo_world,
            "SIZES",
            (SplitSize("train", 54, 260, 560, LABELLED_ROWS), SplitSize("test", 16, 110, 130, 300)),
        )
        yield


def make_little_demo(workspace: Workspace) -> None:
    with at_a_sixth():
        make_demo(workspace)
