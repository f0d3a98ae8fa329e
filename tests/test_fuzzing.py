"""Files with bits that fell over are read or refused in words, of whatever kind; soak/test_fuzzing.py takes thousands."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from core.base.errors import DeskError
from tests.fuzzing import KINDS, changed, write_sound

N = 25


@pytest.mark.few(6)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", KINDS)
def test_a_changed_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    path = write_sound(kind, tmp_path)
    sound = path.read_bytes()
    kind.read(path)
    refusals = []
    for content in islice(changed(sound, seed=1), N):
        path.write_bytes(content)
        try:
            kind.read(path)
        except DeskError as error:
            refusals.append(str(error))
    assert refusals
    assert all(len(refusal.splitlines()) == 1 for refusal in refusals)
