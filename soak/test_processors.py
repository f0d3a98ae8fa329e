"""The numeric tests under the kernels of other processors: BLAS sums in another order on each."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from core.base.config import REPOSITORY

NUMERIC = (
    *("stats", "transfer", "scoring", "embeddings", "real"),
    *("features/cells", "features/experiments", "features/leakage", "features/targets"),
)


@pytest.mark.parametrize("kernel", ["Haswell", "SkylakeX", "Zen"])
def test_numbers_do_not_depend_on_the_kernel(kernel: str) -> None:
    folders = [f"tests/{folder}" for folder in NUMERIC]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "-p",
        "no:randomly",
        *folders,
    ]
    run = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "OPENBLAS_CORETYPE": kernel},
        capture_output=True,
        text=True,
        check=False,
    )
    print(kernel, run.stdout[-400:])
    assert run.returncode == 0, run.stdout[-4000:]
    assert re.search(r"\d+ passed", run.stdout)
