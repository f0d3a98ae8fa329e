"""Records and their JSON: the bytes that are stored and hashed, and what is said of values that cannot stand in a record."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge

from core.base.config import REPOSITORY
from core.base.errors import InputError
from core.base.records import from_json, to_json
from core.base.types import Rejected
from core.features.arguments.rubric import Example, Rubric
from core.features.finetune.job_folder import FinetuneSpec
from core.features.importing.import_target import Imported
from core.features.sharing.report.selection import ReportSelection
from core.features.targets.expression import CellSource
from core.features.targets.splits import Split
from core.runs.spec import ExecutionSettings, LabelViewSpec, RunSpec

SPLIT = Split(("A",), ("C",), ("A+B",), "file", ("B",), None, "s.json")
OPTIONS = {"rounds": 1, "w": 0.5, "context": "kit"}
VIEW = LabelViewSpec("folds", 4, 9)
RECORDS = {
    "run": RunSpec(
        "debate",
        2,
        OPTIONS,
        "d1",
        "ab",
        ("a_b", "c_d"),
        "m",
        3,
        1,
        "cd",
        VIEW,
        ("r1",),
        {"edges": "ef"},
        {"near": "01"},
    ),
    "run without sources": RunSpec("knn", 1, {}, "d1", "ab", ("a_b",)),
    "execution settings": ExecutionSettings("http://127.0.0.1:1/v1", token_budget=5, timeout_s=3.0),
    "fine-tune": FinetuneSpec(
        "m",
        "d1",
        "bmdm",
        "ab",
        3,
        1,
        0,
        {"rank": 16, "dropout": 0.05, "context": ""},
        "/m/out",
        7.0,
    ),
    "selection of a report": ReportSelection(
        "d1", ("r1", "r2"), (("r1", "r2"),), ("a_b",), ("ladder",)
    ),
    "rubric": Rubric(
        "mine",
        "Is it so?",
        ("yes", "no"),
        "brief",
        ("UP",),
        (),
        (Example("It is.", "yes"),),
        dossier=True,
        pattern="so",
    ),
    "split": SPLIT,
    "cells for a ranking": CellSource(file="a.h5ad", perturbation="p", batch="b", seed=1),
    "import": Imported("a.csv", "pairs", "bmdm", 2, (Rejected("a.csv", 3, "bad label", "got x"),)),
}
STORED = {  # to the byte: identities and journals rest on it
    "run": (
        '{"method": "debate", "version": 2, "options": {"rounds": 1, "w": 0.5, "context": "kit"}, '
        '"dataset": "d1", "dataset_sha256": "ab", "rows": ["a_b", "c_d"], "model": "m", "seed": 3, "repeat": 1, '
        '"prompts_sha256": "cd", "view": {"kind": "folds", "k": 4, "seed": 9}, "parents": ["r1"], '
        '"packs": {"edges": "ef"}, "sources": {"near": "01"}}'
    ),
    "run without sources": (
        '{"method": "knn", "version": 1, "options": {}, "dataset": "d1", "dataset_sha256": "ab", "rows": ["a_b"], '
        '"model": "", "seed": 0, "repeat": 0, "prompts_sha256": "", "view": {"kind": "all"}, "parents": [], '
        '"packs": {}}'
    ),
    "execution settings": (
        '{"servers": "http://127.0.0.1:1/v1", "concurrency": 16, "rows_in_flight": 16, "token_budget": 5, '
        '"cached": true, "unanswered_limit": 16, "timeout_s": 3.0, "retries": 5, "backoff_s": 0.5, '
        '"longest_backoff_s": 30.0, "longest_wait_s": 120.0, "max_answer_mb": 4.0, "longest_outage_s": 3600.0, '
        '"backend": "local", "ray_address": "", "calls": {"temperature": null, "top_p": null, "top_logprobs": null, '
        '"extra_body": "", "leave_out": [], "limit_name": "max_completion_tokens", "extra_headers": "", '
        '"auth_header": "Authorization", "api_version": ""}}'
    ),
    "fine-tune": (
        '{"base": "m", "dataset": "d1", "dataset_name": "bmdm", "data_sha256": "ab", "train": 3, "validation": 1, '
        '"left_out": 0, "settings": {"rank": 16, "dropout": 0.05, "context": ""}, "out": "/m/out", '
        '"most_parameters_b": 7.0}'
    ),
    "selection of a report": (
        '{"dataset": "d1", "runs": ["r1", "r2"], "compare": [["r1", "r2"]], "rows": ["a_b"], "figures": ["ladder"]}'
    ),
    "rubric": (
        '{"name": "mine", "question": "Is it so?", "answers": ["yes", "no"], "unit": "brief", "roles": ["UP"], '
        '"stages": [], "examples": [{"text": "It is.", "answer": "yes"}], "dossier": true, "rule": "", '
        '"pattern": "so"}'
    ),
    "split": (
        '{"train": ["A"], "validation": ["C"], "test": ["A+B"], "kind": "file", "unseen_genes": ["B"], '
        '"seed": null, "source": "s.json"}'
    ),
    "cells for a ranking": (
        '{"perturbation": "p", "control": [], "gene_names": null, "separator": null, "values": null, "layer": null, '
        '"where": {}, "across": [], "file": "a.h5ad", "batch": "b", "seed": 1, '
        '"least_cells": 10, "most_cells": 200}'
    ),
    "import": (
        '{"path": "a.csv", "kind": "pairs", "name": "bmdm", "rows": 2, "rejected": [{"file": "a.csv", "line": 3, '
        '"reason": "bad label", "detail": "got x"}], "new": true, "message": "", "organism": null}'
    ),
}


def plain(record: Any) -> dict[str, Any]:
    """A record as it is written."""
    return record.as_json() if hasattr(record, "as_json") else to_json(record)


def read(kind: Any, values: Any) -> Any:
    """What is made of what was written."""
    return (
        kind.from_json(values) if hasattr(kind, "from_json") else from_json(kind, values, "record")
    )


@pytest.mark.parametrize("name", RECORDS)
def test_the_bytes_of_stored_records_stay_what_they_were(name: str) -> None:
    text = json.dumps(plain(RECORDS[name]))
    assert text == STORED[name]
    assert json.dumps(plain(read(type(RECORDS[name]), json.loads(text)))) == text


def test_identities_stay_what_they_were() -> None:
    keys = [RECORDS[name].key for name in ("run", "run without sources", "fine-tune")]
    assert keys == ["1ffa92e1b7", "0a629c2809", "a60c5c3523"]
    assert RECORDS["rubric"].sha256.startswith("073ce88a6ee6a94ea296479c")


@dataclass(frozen=True)
class Inner:
    n: Annotated[int, Ge(1), "a whole number of at least 1"]


@dataclass(frozen=True)
class Outer:
    name: str
    inner: tuple[Inner, ...] = ()
    kind: Literal["a", "b"] = "a"
    share: float | None = None
    names: tuple[str, ...] = ()
    on: bool = False
    others: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name == "bad":
            raise InputError("name: got bad, expected another")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"nmae": "x"}, "nmae is not known, expected name, inner, kind, share, names, on, others"),
        ({}, "name is missing, expected a text"),
        ({"name": 1}, "name is 1, expected a text"),
        (
            {"name": "x", "inner": [{"n": 1}, {"n": 0}]},
            "inner.2.n is 0, expected a whole number of at least 1",
        ),
        (
            {"name": "x", "inner": [{"n": "1"}]},
            "inner.1.n is '1', expected a whole number of at least 1",
        ),
        ({"name": "x", "inner": [{"n": 1, "m": 2}]}, "inner.1.m is not known, expected n"),
        ({"name": "x", "inner": [3]}, "inner.1 is 3, expected a table with n"),
        ({"name": "x", "inner": 3}, "inner is 3, expected a list of tables"),
        ({"name": "x", "kind": "c"}, "kind is 'c', expected a, b"),
        ({"name": "x", "share": "c"}, "share is 'c', expected a number, or nothing"),
        ({"name": "x", "names": ["y", 2]}, "names has 2, expected a text"),
        ({"name": "x", "names": "y"}, "names is 'y', expected a list of texts"),
        ({"name": "x", "on": 1}, "on is 1, expected true or false"),
        ({"name": "x" * 500, "on": 1}, "on is 1, expected true or false"),
        ({"name": ["x"] * 500}, f"name is {['x'] * 500!r:.80}, expected a text"),
        (["x"], "is ['x'], expected a table with name, inner"),
        ({"name": "\ud800"}, "is no JSON"),
    ],
)
def test_what_cannot_stand_in_a_record_is_named_with_its_place(values: Any, problem: str) -> None:
    with pytest.raises(InputError) as error:
        from_json(Outer, values, "outer")
    assert str(error.value).startswith(f"outer cannot be read: {problem}")
    assert not any(
        word in str(error.value).lower()
        for word in ("pydantic", "http", "input should", "validation")
    )


def test_what_a_record_says_itself_is_said_as_it_is() -> None:
    with pytest.raises(InputError, match=r"^name: got bad, expected another$"):
        from_json(Outer, {"name": "bad"}, "outer")


def test_values_of_any_kind_stay_what_they_are() -> None:
    others = {"a": [1, 2.5, None, {"b": "x"}], "large": 10**30, "e": 1e300}
    found = from_json(Outer, {"name": "x", "share": 1, "others": others}, "outer")
    assert (found.others, found.share) == (others, 1.0)
    assert to_json(found) == {**to_json(Outer("x")), "share": 1.0, "others": others}


def test_values_that_json_cannot_hold_are_refused() -> None:
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for others, problem in (
        (deep, "nested too deeply"),
        ({"a": {1, 2}}, r"holds \{1, 2\} \(set\)"),
    ):
        with pytest.raises(InputError, match=problem):
            from_json(Outer, {"name": "x", "others": others}, "outer")


def test_help_does_without_pydantic() -> None:
    """It takes 100 ms to import, which `--help` would show."""
    code = (
        "import sys, runpy, core.base.records\n"
        "sys.argv = ['perturbdesk', '--help']\n"
        "try: runpy.run_module('core', run_name='__main__')\n"
        "except SystemExit: assert 'pydantic' not in sys.modules"
    )
    subprocess.run((sys.executable, "-c", code), cwd=REPOSITORY, check=True, capture_output=True)
