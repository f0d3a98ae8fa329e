"""Prints identities of what is made with records of settings: without an argument as they are; with a number, as if a setting
that changes the result had been appended to each later, and were that number."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests import further_settings


def print_identities(value: int | None) -> None:
    """Import the records only now: appended settings are in those that are made from here on."""
    from core.actions import derived_runs, launch, spaces
    from core.actions.component_loader import default_dataset
    from core.actions.space_settings import CoresponseSettings
    from core.actions.workspace import open_workspace
    from core.audit.rubric import Rubric
    from core.cells.screen import LabelSettings
    from core.config import Settings
    from core.fields.record import make, options_of
    from core.llm.call_settings import CallSettings
    from core.methods.fusion_settings import FusionSettings
    from core.transfer.knn_settings import KnnSettings
    from tests import worlds

    def made(record: Any, **values: Any) -> Any:
        later = {option.name: value for option in options_of(record) if option.name.startswith("odd_later_")}
        return make(record, {**values, **later})

    with tempfile.TemporaryDirectory() as folder:
        workspace = open_workspace(Settings(workspace=Path(folder), author="tester"))
        worlds.import_screen(workspace)
        dataset = default_dataset(workspace, None)
        knn = derived_runs.knn_request(dataset, made(KnnSettings, spaces="near"), "k")
        fused = {"base": "llm train", "with": "llm test", "w_de": (0.5,), "w_dir": (0.5,)}
        fusion = derived_runs.fusion_request(dataset.name, made(FusionSettings, **fused), "f")
        kind, options = spaces.source_of(made(CoresponseSettings))
        found = {
            "knn": launch.resolve(workspace, knn).key,
            "fusion": launch.resolve(workspace, fusion).key,
            "labels": made(LabelSettings).identity(),
            "calls": made(CallSettings, temperature=0.3).identity,
            "rubric": made(Rubric, name="r", question="q?").sha256,
            "space": spaces.specify(workspace, kind, {**options, "dataset": dataset.name}),
        }
    sys.stdout.write(json.dumps(found, default=str))


if __name__ == "__main__":
    if sys.argv[1:]:
        further_settings.pytest_load_initial_conftests()
    print_identities(int(sys.argv[1]) if sys.argv[1:] else None)
