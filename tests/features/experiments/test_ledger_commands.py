"""The commands of the ledger; nothing here changes or deletes an entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from core.features.experiments.commands import app
from core.runs.workspace import Workspace
from tests.commands import core, core_json


@pytest.fixture
def place(demo_copy: Workspace) -> Path:
    """A workspace for each test: what one adds to the ledger stays there for good."""
    return demo_copy.settings.workspace


@pytest.mark.soak
def test_a_hypothesis_from_registration_to_verdict(place: Path) -> None:
    assert core_json(place, "ledger", "list")["hypotheses"] == []
    claim = (
        "--hypothesis",
        "Arguing helps",
        "--prediction",
        "the mean rises",
        "--smallest",
        "0.01",
    )
    added = core_json(place, "ledger", "add", "arguing", *claim, "--runs", f"{A},{B}")
    assert (added["verdict"], added["seen_before"], added["p"]) == (None, True, None)
    result = core_json(place, "ledger", "result", "arguing")
    compared = core_json(place, "compare", A, B)
    assert result["estimate"] == compared["delta_mean"]["estimate"]
    assert result["p"] == result["p_holm"] == result["p_bh"] == pytest.approx(compared["p"])
    assert (result["name"], result["kind"], added["kind"]) == ("arguing", "result", "registration")
    assert core_json(place, "ledger", "list")["hypotheses"] == [result]
    assert "registered after its result could be seen" in core(place, "ledger", "list").out


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("import",), "expected either a file or --published"),
        (("import", "absent.csv"), "absent.csv"),
        (("result", "nobody"), "not registered here"),
        (
            (
                "add",
                "x",
                "--hypothesis",
                "h",
                "--prediction",
                "p",
                "--smallest",
                "0",
                "--runs",
                "a,b",
            ),
            "--smallest: got '0', expected a number, more than 0",
        ),
        (
            (
                "add",
                "x",
                "--hypothesis",
                "h",
                "--prediction",
                "p",
                "--smallest",
                "0.1",
                "--runs",
                "one",
            ),
            "expected two runs as A,B",
        ),
    ],
)
def test_what_is_wrong_is_one_line(place: Path, words: tuple[str, ...], said: str) -> None:
    done = core(place, "ledger", *words)
    assert (done.status, said in done.err, done.err.count("\n")) == (1, True, 1)


def test_there_is_no_command_that_changes_or_deletes() -> None:
    assert set(get_command(app).commands) == {"list", "add", "result", "import"}  # type: ignore[attr-defined]
