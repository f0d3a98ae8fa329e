"""The sources of the numbers: files with their hashes, specifications of runs, seeds, and the
version of the code."""

from __future__ import annotations

import json

import pandas as pd

from core.base.environment import describe
from core.base.records import to_json
from core.features.sharing.report.markup import Html, element, join
from core.features.sharing.report.material import Material
from core.features.sharing.report.selection import ReportSelection
from core.features.sharing.report.tables import lines, table
from core.store.runs import Run


def show_provenance(material: Material, selection: ReportSelection) -> Html:
    """Return version, files, runs with their sources, and the choices."""
    return join(
        [
            lines([("Made with PerturbDesk", describe()), ("Dataset", _dataset(material))]),
            element("h3", "Imported files"),
            _files(material),
            element("h3", "Runs"),
            *(_run(material, run) for run in _all_runs(material)),
            element("h3", "What was chosen"),
            element("pre", _json(to_json(selection))),
        ]
    )


def _dataset(material: Material) -> str:
    found = material.dataset
    parts = (
        f"{found.name} ({found.id})",
        found.organism,
        found.context,
        "simulated" if found.origin == "simulated" else "",
    )
    return ", ".join(filter(None, parts))


def _files(material: Material) -> Html:
    if not material.files:
        return element("p", "No file was imported: these rows were made here.")
    frame = pd.DataFrame(
        [
            (each.file, each.kind.replace("_", " "), each.rows, each.rejected, each.sha256)
            for each in material.files
        ],
        columns=["file", "kind", "rows", "rejected", "SHA-256"],
    )
    return element("div", table(frame), class_="files")


def _all_runs(material: Material) -> list[Run]:
    """Return the chosen runs, those that they are compared with, and the ancestors of all."""
    compared = (run for pair in material.comparisons for run in pair)
    return list({run.id: run for run in (*material.runs, *compared, *material.ancestors)}.values())


def _run(material: Material, run: Run) -> Html:
    names = {each.id: each.name for each in _all_runs(material)}
    parents = ", ".join(names.get(key, f"{key} (not in this workspace)") for key in run.parents)
    facts = [
        ("Id", run.id),
        ("Method", f"{run.method}, {run.origin}"),
        ("Model", run.model or "–"),
        ("Seed", run.spec.get("seed", "–")),
        ("Made from", parents or "–"),
        ("Rows", f"{run.done:,} of {run.total:,}, {run.failed:,} failed"),
        ("Code", run.code_version),
    ]
    spec = element(
        "details", element("summary", "Specification"), element("pre", _json(dict(run.spec)))
    )
    return join([element("h4", run.name), lines(facts), spec])


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
