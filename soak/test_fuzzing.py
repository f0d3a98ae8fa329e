"""Thousands of changed files of each kind, read with a limit of memory: no foreign error, no crash, little memory."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import DeskError
from tests.fuzzing import KINDS, changed, write_sound

N = 3_000
MOST_MB = 600
MOST_DATA = 2 << 30


def read_all(name: str, folder: Path, n: int, seed: int) -> dict[str, Any]:
    """What became of n changed files. The one that is being read lies in the folder, to be looked at after a crash."""
    kind = KINDS[name]
    path = write_sound(kind, folder)
    sound = path.read_bytes()
    found = {"read": 0, "refused": 0, "foreign": [], "slowest_s": 0.0}
    for content in islice(changed(sound, seed), n):
        path.write_bytes(content)
        began = time.process_time()
        try:
            kind.read(path)
            found["read"] += 1
        except DeskError:
            found["refused"] += 1
        except Exception as error:  # noqa: BLE001 (what this test looks for)
            found["foreign"].append(f"{type(error).__name__}: {error}"[:200])
            (folder / f"foreign{len(found['foreign'])}{kind.suffix}").write_bytes(content)
        found["slowest_s"] = max(found["slowest_s"], time.process_time() - began)
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


@pytest.mark.parametrize("name", KINDS)
def test_thousands_of_changed_files(name: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED", "7"))
    command = [sys.executable, "-m", "soak.test_fuzzing", name, str(tmp_path), str(N), str(seed)]
    done = subprocess.run(
        command, capture_output=True, check=False, cwd=Path(__file__).resolve().parent.parent
    )
    assert done.returncode == 0, (done.returncode, done.stderr.decode()[-2_000:], tmp_path)
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"\n{name}: {found['read']:,} read, {found['refused']:,} refused, {found['megabytes']:.0f} MB, {found['slowest_s']:.2f} s"
    )
    assert not found["foreign"], (found["foreign"][:5], tmp_path)
    assert found["megabytes"] < MOST_MB


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA))
    warnings.simplefilter("ignore")
    print(json.dumps(read_all(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))))
