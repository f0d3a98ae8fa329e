"""The starter kit's template and example prompts, as they were published, on the challenge's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.methods.base import method_named
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace

pytestmark = pytest.mark.real


@pytest.mark.soak
def test_the_kit_s_files_are_asked(shared_data: Path, real_workspace: Workspace) -> None:
    folder, method = shared_data / "entries_more", method_named("prompt_only")
    templated = RunRequest(
        "prompt_only",
        options=launch.read_options(method, [f"template={folder / 'prompt_template.txt'}"]),
        rows="sample=3",
        model="m",
    )
    assert len(launch.resolve(real_workspace, templated).rows) == 3
    some = RunRequest(
        "prompt_only",
        options=launch.read_options(method, [f"prompts={folder / 'example_prompts.csv'}"]),
        model="m",
    )
    spec = launch.resolve(real_workspace, some)
    assert sorted(spec.rows) == ["Acin1_Fgl2", "Acin1_Slamf9"]
    assert "1 of 3 ids are not in dataset bmdm: Stat1_Irf1" in launch.describe_not_asked(
        real_workspace, some, spec
    )
