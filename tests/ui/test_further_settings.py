"""A setting that is appended to any record has its control, option, key and identity, and no other file is edited."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from core.base.config import REPOSITORY
from tests.further_settings import NAME

# Tests that are run with a further setting in each record: of a file, those of these words.
WALKS = {
    "tests/ui/test_settings.py": "",
    "tests/test_setting_identities.py": NAME,
    "tests/features/asking/test_panel.py": "said_beside_the_noise",
    "tests/features/targets/test_targets.py": "another_mask",
    "tests/features/arguments/test_tabs.py": "asks_for_no_labels",
}


@pytest.mark.soak
@pytest.mark.parametrize(("file", "words"), WALKS.items())
def test_a_further_setting_of_each_record_passes_the_walk(file: str, words: str) -> None:
    plugins = ["-p", "tests.further_settings", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-n", "0", *plugins, "-m", "", "-k", words, file]
    apart = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    found = subprocess.run(
        command, cwd=REPOSITORY, env=apart, capture_output=True, text=True, check=False
    )
    # Not by its exit status: a page's computation that goes on as the process ends may abort it.
    assert re.search(r"^\d+ passed(?!.*(failed|error))", found.stdout, re.MULTILINE), found.stdout[
        -4_000:
    ]
