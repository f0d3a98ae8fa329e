"""Jobs of the kind label_counts: how often each perturbation has each label, a file each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.base.file_io import replace_file
from core.runs.jobs.control import JobKind
from core.runs.jobs.work import Reporter
from core.runs.workspace import Workspace
from core.store import pairs


class LabelCounts(JobKind):
    """Counts of labels, which are kept in the cache."""

    name, title, page = "label_counts", "count of labels", "data"

    def work(self, workspace: Workspace, wanted: Mapping[str, Any], reporter: Reporter, /) -> None:
        """Count the labels of a dataset (id)."""
        with workspace.store.read() as db:
            of_pert = dict(iter(pairs.frame(db, wanted["dataset"]).groupby("pert")["label"]))
        folder = workspace.settings.cache / self.name / wanted["dataset"]
        folder.mkdir(parents=True, exist_ok=True)
        for i, (pert, labels) in enumerate(of_pert.items()):
            reporter.report(i / len(of_pert), f"counting {pert}")
            file = folder / f"{i}.json"
            if not file.exists():  # an earlier process may have made it
                counts = {"pert": pert, **labels.value_counts().to_dict()}
                replace_file(file, json.dumps(counts).encode())


KIND = LabelCounts()
