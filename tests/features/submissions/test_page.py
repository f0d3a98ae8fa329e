"""The Submit page, without a browser: a run as it would be packaged, and files that are held against the test rows."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from streamlit.testing.v1 import AppTest

from core.features.importing import bundle_actions
from core.features.importing.problems import SEVERITIES
from core.features.submissions import actions as submissions
from core.features.submissions.actions import PackageOptions
from core.features.submissions.rules import is_valid
from core.runs.workspace import Workspace
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

TEST = "simulated debate test"
PROBLEM = re.compile(r"\*\*[✗⚠·] ([a-z ]+): (.+)\*\*(?:, ([\d,]+) rows?)?")
PROMPT, TOOL = (
    b"What does losing the gene do?",
    ("lookup.py", b"def lookup(gene: str) -> str:\n    return gene\n"),
)


def problems(app: AppTest) -> list[tuple[str, str, int]]:
    """The problems on the page: severity, rule, number of rows."""
    found = (PROBLEM.fullmatch(each.value.replace("\\", "")) for each in app.markdown)
    return [
        (said[1], said[2].replace(" ", "_"), int((said[3] or "0").replace(",", "")))
        for said in found
        if said
    ]


def are_disabled(app: object) -> list[bool]:
    """Whether the buttons that download the package are disabled; tables have buttons of their own."""
    return [each.disabled for each in app.get("download_button") if each.label != "Parquet"]  # type: ignore[attr-defined]


@pytest.mark.soak
def test_a_run_shows_every_problem_of_its_package(glance: Visit, little_demo: Workspace) -> None:
    run = the_run(little_demo, TEST)
    expected = submissions.check_run(little_demo, run.id, PackageOptions("B")).problems
    app = glance(little_demo, "share", tab="Package a run", run=run.id)
    assert problems(app) == [(SEVERITIES[p.severity], p.rule, len(p.rows)) for p in expected]
    assert "prompt_missing" in {rule for _, rule, _ in problems(app)}
    assert "✓ valid" in text_of(app)  # for the judge, but without its prompt none is written
    assert "under “Prompt and tools”" in text_of(app)
    assert are_disabled(app) == [True]


def test_with_its_prompt_and_tools_a_run_can_be_downloaded(
    glance: Visit, little_demo: Workspace
) -> None:
    app = glance(little_demo, "share", tab="Package a run", run=the_run(little_demo, TEST).id)
    app.file_uploader(key="prompt_file").upload("mine.txt", PROMPT)
    app.file_uploader(key="tool_files").upload(*TOOL)
    app.run()
    assert "✓ valid" in text_of(app)
    assert "SHA-256" in text_of(app)
    assert are_disabled(app) == [False]


@pytest.mark.soak
def test_the_track_is_in_the_address(glance: Visit, little_demo: Workspace) -> None:
    app = glance(
        little_demo, "share", tab="Package a run", run=the_run(little_demo, TEST).id, track="C"
    )
    assert "for track C" in text_of(app)
    assert "tools_missing" not in {rule for _, rule, _ in problems(app)}


@pytest.mark.soak
def test_a_file_is_held_against_the_test_rows(glance: Visit, little_demo: Workspace) -> None:
    content = submissions.check_run(
        little_demo, the_run(little_demo, TEST).id, PackageOptions("B")
    ).content
    app = glance(little_demo, "share", tab="Check a file")
    app.file_uploader(key="check_file").upload("mine.zip", content)
    app.run()
    assert "prompt_missing" in {rule for _, rule, _ in problems(app)}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        table = archive.read("submission.csv")
    app.file_uploader(key="check_file").upload("mine.csv", table)
    app.run()
    assert "✓ valid" in text_of(app)
    lines = table.split(b"\n")
    app.file_uploader(key="check_file").upload("short.csv", b"\n".join([lines[0], *lines[2:]]))
    app.run()
    assert ("rejected", "missing_ids", 1) in problems(app)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 and no more", b"\xff\xfe\x00", b"id\n", b"<html>"]
)
def test_any_bytes_are_a_file_with_problems(
    glance: Visit, little_demo: Workspace, content: bytes
) -> None:
    assert not is_valid(
        submissions.check_file(
            little_demo, content, "B", dataset=the_run(little_demo, TEST).dataset
        )
    )
    app = glance(little_demo, "share", tab="Check a file")
    app.file_uploader(key="check_file").upload("odd.zip", content)
    app.run()
    assert "not valid" in text_of(app)


@pytest.mark.soak
def test_a_run_is_packed_for_a_colleague(glance: Visit, little_demo: Workspace) -> None:
    run = the_run(little_demo, TEST)
    app = glance(little_demo, "data", tab="Runs and notes", run=run.id)
    app.button(key=f"bundle-{run.id}").click().run()
    assert not app.error
    made = bundle_actions.build_bundle(little_demo, run.id)
    assert made.sha256 in text_of(app)
    assert [button.label for button in app.get("download_button")].count("Download the file") == 1
