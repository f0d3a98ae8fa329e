"""Gene sets summarised by a server that answers in phrases; skipped without the package that scores them."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from core.base.errors import InputError, MissingPackage
from core.features.perturbqa.gene_sets import GeneSet, read_gene_sets
from core.features.perturbqa.summaries import rouge_1_recall
from tests.commands import core, core_json
from tests.fakes.scripted import Faults, Script, request_counts, serving

SETS = [
    {"genes": ["Atp5a1", "Atp5b"], "label": "mitochondrial respiratory chain"},
    {"genes": ["Rpl3", "Rpl4"], "label": "ribosome, large subunit"},
    {"genes": ["Abc1"], "label": None},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "sets.json"
    found.write_text(json.dumps(SETS))
    return found


def test_without_the_package_its_requirements_file_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(MissingPackage, match=r"requirements-gene-sets\.txt"):
        rouge_1_recall("a", "a")


@pytest.mark.soak
def test_recall_counts_each_word_of_the_label_as_often_as_it_has_it() -> None:
    pytest.importorskip("rouge_score", reason="requirements-gene-sets.txt is not installed")
    # the, chain, of, the, chain: in the phrase are the (once), chain (once): 2 of 5
    assert rouge_1_recall("the chain of the chain", "The CHAIN, respiratory") == pytest.approx(
        2 / 5
    )
    assert rouge_1_recall("mTORC1 signaling", "signalling by mTORC1") == 0.5  # without stemming


@pytest.mark.soak
def test_every_set_has_a_row_and_those_without_a_description_no_score(
    tmp_path: Path, file: Path
) -> None:
    pytest.importorskip("rouge_score", reason="requirements-gene-sets.txt is not installed")
    place = tmp_path / "workspace"
    with serving(Script(answer=lambda _: "The respiratory chain.")) as url:
        [made] = core_json(place, "gene-sets", str(file), "--endpoint", url)["gene_sets"]
        again = core(place, "gene-sets", str(file), "--endpoint", url)
        asked = request_counts(url)["/v1/chat/completions"]
        [anew] = core_json(
            place, "gene-sets", str(file), "--endpoint", url, "--replace", "--model", "scripted"
        )["gene_sets"]
        assert request_counts(url)["/v1/chat/completions"] == asked  # the cache answers
        core_json(
            place,
            "gene-sets",
            str(file),
            "--endpoint",
            url,
            "--replace",
            "--model",
            "scripted",
            "--leave-out",
            "seed",
        )
        assert request_counts(url)["/v1/chat/completions"] == asked + len(SETS)  # other requests
    # respiratory and chain, of three words; none of the ribosome's three
    assert made["rouge1_recall"] == pytest.approx((2 / 3 + 0) / 2)
    assert (made["sets"], made["scored"], made["unlabelled"], made["failed"]) == (3, 2, 1, 0)
    assert anew == made
    assert (again.status, "exists" in again.err) == (1, True)
    table = pd.read_csv(made["table"])
    assert table["summary"].tolist() == ["The respiratory chain."] * 3
    assert table["rouge1_recall"].fillna(-1).tolist() == pytest.approx([2 / 3, 0, -1])


@pytest.mark.soak
def test_a_call_that_fails_is_counted_and_scores_nothing(tmp_path: Path, file: Path) -> None:
    pytest.importorskip("rouge_score", reason="requirements-gene-sets.txt is not installed")
    with serving(Script(faults=Faults(empty=1))) as url:
        [made] = core_json(
            tmp_path / "w", "gene-sets", str(file), "--endpoint", url, "--model", "scripted"
        )["gene_sets"]
    assert (made["failed"], made["scored"], made["rouge1_recall"]) == (3, 0, None)
    assert pd.read_csv(made["table"])["error"].str.startswith("Truncated").all()


def test_sets_with_and_without_a_description(tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(
        json.dumps(
            [{"genes": ["A1", "B2"], "label": "a complex"}, {"genes": ["C3"], "label": None}]
        )
    )
    assert read_gene_sets(file) == (GeneSet(("A1", "B2"), "a complex"), GeneSet(("C3",), None))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "sets.json cannot be read: is no JSON"),
        ("[]", r"is \[\], expected a list of \{"),
        ('{"genes": ["A"], "label": null}', "expected a list"),
        (
            '[{"genes": ["A"], "label": "x"}, {"genes": [], "label": null}]',
            r"2.genes is \[\], expected a list of symbols",
        ),
        ('[{"genes": ["A", 1], "label": null}]', "1.genes has 1, expected a text"),
        ('[{"genes": ["A"], "label": 3}]', "1.label is 3, expected a text"),
        ('[{"genes": ["A"]}]', "1.label is missing"),
    ],
)
def test_what_is_no_list_of_sets(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        read_gene_sets(file)
