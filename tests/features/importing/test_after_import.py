"""After an import one looks at what came: its dataset, the best of its runs with labels, and what that run gets wrong."""

from __future__ import annotations

import pytest

from core.runs.workspace import Workspace
from core.store.predictions import CONFIDENTLY_WRONG
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of, the_run

GOOD, BAD = (
    (("Pa_Ga", 0.9), ("Pa_Gb", 0.1)),
    (("Pa_Ga", 0.1), ("Pa_Gb", 0.9)),
)  # Pa_Ga has an effect, Pa_Gb has none


def submission(rows: tuple[tuple[str, float], ...]) -> bytes:
    return cases.submission([(pair, p, 0.0, "x") for pair, p in rows])


@pytest.mark.soak
@pytest.mark.parametrize("page", ["data", "overview"])
def test_the_best_run_of_the_upload_is_chosen_and_its_mistakes_are_a_click_away(
    visit: Visit, small_workspace: Workspace, page: str
) -> None:
    app = visit(small_workspace, page, run=the_run(small_workspace).id)
    upload = app.file_uploader(key="upload" if page == "data" else "upload-overview")
    upload.upload("good.csv", submission(GOOD)).upload(
        "bad.csv", submission(BAD)
    )  # the best is not the last
    app.run()
    press(app, "Import uploaded files")
    assert not app.error
    good = the_run(small_workspace, "good").id
    assert app.query_params["run"] == [good] or app.query_params["run"] == good
    assert "chosen: imported just now, the best with labels" in [
        line for each in app.sidebar.caption for line in each.value.split("  \n")
    ]
    assert "Imported 2 files, 4 rows" in text_of(app).replace("\\", "")
    links = [
        each.proto for each in app.main.get("page_link") if each.proto.label == "Errors of good"
    ]
    assert {link.page for link in links} == {"rows"}
    assert all(
        f"run={good}" in link.query_string and "order=" in link.query_string for link in links
    )
    opened = visit(small_workspace, "rows", run=good, order=CONFIDENTLY_WRONG)
    assert "row 1 of 2" in text_of(opened)


@pytest.mark.soak
def test_of_what_was_not_imported_nothing_is_chosen(
    visit: Visit, small_workspace: Workspace
) -> None:
    before = the_run(small_workspace).id
    app = visit(small_workspace, "data", run=before)
    app.file_uploader(key="upload").upload("odd.bin", b"\x00\x01\x02")
    app.run()
    press(app, "Import uploaded files")
    assert "odd.bin: nothing imported" in app.error[0].value.replace("\\", "")
    assert app.query_params["run"] in (before, [before])
    press(app, "Close")
    assert "nothing imported" not in text_of(app)
