"""What the tab Import of Data may read of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core.runs.workspace import Workspace
from core.store import datasets
from tests import cases
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of


def test_a_path_outside_is_refused_and_one_inside_is_imported(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "test2.csv").write_bytes(
        cases.as_csv(["id", "pert", "gene"], [["Pd_Gd", "Pd", "Gd"]])
    )
    (inside / "passwd").write_bytes(b"root:x:0:0:open-sesame\n")
    monkeypatch.setenv("PERTURBDESK_IMPORT_ROOTS", str(inside))
    app = visit(small_workspace, "data")
    assert f"Inside {inside}" in text_of(app).replace("\\", "").replace("\u2060", "")
    for path, words in (
        ("/etc/passwd", "outside the folders from which pages may import"),
        (str(inside / "passwd"), "its content is not recognised"),
    ):
        app.text_input(key="import_path").set_value(path).run()
        next(button for button in app.button if button.label == "Import path").click().run()
        assert [words in error.value.replace("\\", "") for error in app.error] == [True]
        assert "open-sesame" not in text_of(app)
        assert "root:" not in text_of(app)
    app.text_input(key="import_path").set_value(str(inside / "test2.csv")).run()
    next(button for button in app.button if button.label == "Import path").click().run()
    assert not app.error
    assert "✓ Imported test2.csv: challenge test, 1 row in bmdm." in text_of(app)


def test_it_is_off_when_the_app_listens_beyond_this_machine(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = st.get_option
    monkeypatch.setattr(
        st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else real(name)
    )
    app = visit(small_workspace, "data")
    assert "off, since other machines can reach this app." in text_of(app)
    assert not [field for field in app.text_input if field.key == "import_path"]


def plain_text(app: AppTest) -> str:
    return text_of(app).replace("\\", "").replace("\u2060", "")


def boxes_of(app: AppTest) -> dict[str, Selectbox]:
    return {box.label: box for box in app.selectbox if str(box.key).startswith("role-")}


def test_an_upload_is_shown_and_corrected_before_it_is_imported(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "data")
    rows = [["STAT1", "IRF1", "up"], ["JAK1", "SOCS3", "down"]]
    app.file_uploader(key="upload").upload(
        "my_k562.csv", cases.as_csv(["KO", "readout", "call"], rows)
    )
    app.run()
    assert "--column ROLE=NAME" in plain_text(app)
    for role, column in (("pert", "KO"), ("gene", "readout"), ("label", "call")):
        boxes_of(app)[role].select(column).run()
    assert "labels of 2 pairs → new dataset my_k562, human" in plain_text(app)
    with small_workspace.store.read() as db:
        assert [d.name for d in datasets.list_all(db)] == ["bmdm"]
    press(app, "Import uploaded files")
    assert not app.error
    with small_workspace.store.read() as db:
        assert datasets.find(db, "my_k562").organism == "human"
    app.file_uploader(key="upload").upload(
        "more.csv", cases.as_csv(["KO", "readout", "call"], [["TP53", "MDM2", "down"]])
    )
    app.run()
    assert "as you said for my_k562.csv" in plain_text(app)
    assert {role: box.value for role, box in boxes_of(app).items() if box.value} == {
        "pert": "KO",
        "gene": "readout",
        "label": "call",
    }


def test_a_file_that_is_recognised_needs_no_further_click(
    visit: Visit, small_workspace: Workspace
) -> None:
    app = visit(small_workspace, "data")
    app.file_uploader(key="upload").upload("mine.csv", cases.submission([("Pa_Ga", 0.2, 0.3, "x")]))
    app.run()
    assert "predictions → run mine, for 1 pair of dataset bmdm" in plain_text(app)
    press(app, "Import uploaded files")
    assert "Imported mine.csv: submission, 1 row in mine." in plain_text(app)
