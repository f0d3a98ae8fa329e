"""The PDFs of a report, printed by a background job: a browser takes seconds over them, up to half a minute.

The page that shows a report has its HTML at once and hands that to the job, so that nothing is computed twice and the PDFs show
what the page showed. Both lie in cache/reports/KEY/CONTENT, one content a name of a report.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.actions import job_control, machine_names
from core.actions.job_kinds.base import Job
from core.actions.workspace import Workspace
from core.errors import StateError
from core.file_io import replace_file
from core.hashes import KEY_DIGITS, sha256_of
from core.jobs.work import Reporter

KIND: Final = "report"
FORMS: Final[Mapping[str, str]] = {"report": "the report", "slides": "the slides"}  # name of a file → in words


def find_job(workspace: Workspace, name: str) -> Job | None:
    """Return the job that prints, or printed, the report of a name; None if there is none."""
    return job_control.find(workspace, KIND, job_control.key_of(name))


def content_of(pages: Mapping[str, bytes]) -> str:
    """Return the key of a report's HTML by form."""
    return sha256_of(b"\0".join(pages[form] for form in FORMS))[:KEY_DIGITS]


def has_pdfs(workspace: Workspace, name: str) -> bool:
    """Return whether a report of this name was printed, of whatever content."""
    return any(_folder(workspace, name).glob("*/*.pdf"))


def find_pdfs(workspace: Workspace, name: str, content: str) -> dict[str, Path]:
    """Return the PDFs of a report by form once both are there; {} before, and for any other content than the last printed.

    content: of `content_of`.
    """
    folder = _folder(workspace, name) / content
    files = {form: folder / f"{form}.pdf" for form in FORMS}
    return files if all(file.exists() for file in files.values()) else {}


def start(workspace: Workspace, name: str, dataset: str, pages: Mapping[str, bytes]) -> Job:
    """Start the job that prints the report of a name, and return it; earlier PDFs of that name are removed.

    dataset: its id. pages: the HTML by form. Raise StateError if a page contains a secret, or while the job prints another
    content.
    """
    workspace.refuse_if_read_only("print report", name)
    machine_names.refuse_secrets(workspace.settings, f"report {name}", pages.values())
    content = content_of(pages)
    folder = _folder(workspace, name) / content
    folder.mkdir(parents=True, exist_ok=True)
    for form in FORMS:
        replace_file(folder / f"{form}.html", pages[form])
    job = job_control.start(workspace, KIND, name, {"name": name, "dataset": dataset, "content": content})
    for other in folder.parent.iterdir():
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return job


def print_pdfs(workspace: Workspace, name: str, content: str, reporter: Reporter) -> None:
    """Print the PDFs that are missing. Raise StateError without a browser, or if the HTML is gone with the cache."""
    from core.report.printing import as_pdf  # with plotly, which who only lists jobs does without

    workspace.refuse_if_read_only("print report", name)
    folder = _folder(workspace, name) / content
    for i, (form, words) in enumerate(FORMS.items()):
        source, target = folder / f"{form}.html", folder / f"{form}.pdf"
        reporter.report(i / len(FORMS), f"printing {words}")
        if target.exists():
            continue
        if not source.exists():
            raise StateError(f"report {name!r}: {source} is gone, expected what the page Share wrote; make the PDFs there again")
        replace_file(target, as_pdf(source.read_bytes()))


def _folder(workspace: Workspace, name: str) -> Path:
    return workspace.settings.cache / "reports" / job_control.key_of(name)
