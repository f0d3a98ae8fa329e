"""What the long tests share: each prints its figures when it ends."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator

import pytest

Record = Callable[..., None]


@pytest.fixture
def record(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Record]:
    """Takes figures by name; prints them at the end, with the seconds taken and the most memory of this process and its
    largest child so far."""
    began = time.monotonic()
    figures = {}
    yield figures.update
    own, child = (
        resource.getrusage(who).ru_maxrss / 1024
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    figures |= {
        "seconds": f"{time.monotonic() - began:.1f}",
        "MB": f"{own:.0f}",
        "MB of the largest child": f"{child:.0f}",
    }
    with capsys.disabled():
        print(
            f"\n{request.node.name}: {', '.join(f'{name} {value}' for name, value in figures.items())}"
        )
