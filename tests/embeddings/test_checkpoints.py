from __future__ import annotations

import json
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from core.base.errors import InputError, MissingPackage, UnknownFormat, UnsafeFile
from core.embeddings.checkpoints import (
    GENEFORMER_KEY,
    SCGPT_KEY,
    read_pickled_vectors,
    read_plain_pickle,
)
from core.features.importing.spaces.load import load_space
from tests.embeddings.hostile import Calls, touches

WEIGHTS = np.arange(12, dtype=np.float32).reshape(6, 2) + 1  # row i is (2i + 1, 2i + 2)
TOKENS = {"<pad>": 0, "<mask>": 1, "ENSG01": 2, "ENSG02": 3, "ENSG03": 5}
NAMES = {"TP53": "ENSG01", "KRAS": "ENSG03", "GONE": "ENSG99"}


def geneformer(
    folder: Path, tokens: object = TOKENS, names: object = NAMES, key: str = GENEFORMER_KEY
) -> Path:
    folder.mkdir(exist_ok=True)
    save_file({key: WEIGHTS, "other": WEIGHTS}, folder / "model.safetensors")
    (folder / "token_dictionary_gc95M.pkl").write_bytes(pickle.dumps(tokens))
    (folder / "gene_name_id_dict_gc95M.pkl").write_bytes(pickle.dumps(names))
    return folder


@pytest.mark.parametrize(
    "names",
    [NAMES, {identifier: name for name, identifier in NAMES.items()}],
    ids=["name first", "id first"],
)
def test_geneformer(tmp_path: Path, names: dict[str, str]) -> None:
    space = load_space(geneformer(tmp_path / "gf", names=names), "gf")
    assert space.symbols == ("TP53", "KRAS")
    assert space.vectors.tolist() == [[5, 6], [11, 12]]  # rows 2 and 5
    assert space.notes == (
        "3 of 5 tokens have no gene name and are left out",
    )  # <pad>, <mask>, ENSG02
    assert space.source == "Geneformer, gf/model.safetensors"


def test_further_pickles_beside_the_two_dictionaries_are_not_opened(tmp_path: Path) -> None:
    folder = geneformer(tmp_path / "gf")
    (folder / "gene_median_dictionary.pkl").write_bytes(touches(tmp_path / "marker")[0][1])
    assert load_space(folder, "gf").symbols == ("TP53", "KRAS")
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("file", ["token_dictionary_gc95M.pkl", "gene_name_id_dict_gc95M.pkl"])
def test_a_hostile_dictionary_is_refused_by_name(tmp_path: Path, file: str) -> None:
    folder = geneformer(tmp_path / "gf")
    for what, content in touches(tmp_path / "marker"):
        (folder / file).write_bytes(content)
        with pytest.raises(UnsafeFile, match=what) as caught:
            load_space(folder, "gf")
        assert file in str(caught.value)
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("tokens", "names", "key", "message"),
    [
        (TOKENS, TOKENS, GENEFORMER_KEY, "expected one of id to token, one of name to id"),
        ({}, NAMES, GENEFORMER_KEY, "expected one of id to token"),
        (TOKENS, {"TP53": "ENSG77"}, GENEFORMER_KEY, "no name leads to a token"),
        ({**TOKENS, "ENSG01": 6}, NAMES, GENEFORMER_KEY, "'TP53' is row 6, expected one of 6 rows"),
        ({**TOKENS, "ENSG01": -1}, NAMES, GENEFORMER_KEY, "'TP53' is row -1"),
        (TOKENS, NAMES, "bert.embeddings", f"expected {GENEFORMER_KEY}"),
    ],
)
def test_a_geneformer_folder_that_does_not_fit_together(
    tmp_path: Path, tokens: object, names: object, key: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        load_space(geneformer(tmp_path / "gf", tokens, names, key), "gf")


def test_an_incomplete_folder(tmp_path: Path) -> None:
    folder = geneformer(tmp_path / "gf")
    (folder / "token_dictionary_gc95M.pkl").unlink()
    with pytest.raises(InputError, match="1 dictionaries"):
        load_space(folder, "gf")
    (folder / "model.safetensors").rename(folder / "model.bin")
    with pytest.raises(UnknownFormat, match=r"expected scGPT's vocab.json and best_model.pt"):
        load_space(folder, "gf")


def scgpt(folder: Path, checkpoint: bytes = b"", vocabulary: object = None) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(
        json.dumps(vocabulary if vocabulary is not None else {"<pad>": 0, "TP53": 4, "KRAS": 1})
    )
    (folder / "best_model.pt").write_bytes(checkpoint)
    return folder


def saved(torch: Any, content: object, folder: Path, **options: object) -> bytes:
    torch.save(content, folder / "saved.pt", **options)
    return (folder / "saved.pt").read_bytes()


def test_scgpt_without_torch_names_the_requirements_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackage, match=r"needs the package torch.*requirements-models\.txt"):
        load_space(scgpt(tmp_path / "scgpt"), "scgpt")


@pytest.mark.parametrize("vocabulary", [["TP53"], {"TP53": "1"}, {"TP53": True}])
def test_a_vocabulary_of_another_shape(tmp_path: Path, vocabulary: object) -> None:
    with pytest.raises(
        InputError, match=r"vocab.json cannot be read: .* expected a (table|whole number)"
    ):
        load_space(scgpt(tmp_path / "scgpt", vocabulary=vocabulary), "scgpt")


def test_a_vocabulary_that_is_no_json(tmp_path: Path) -> None:
    folder = scgpt(tmp_path / "scgpt")
    for text in ("{", "[" * 100_000):
        (folder / "vocab.json").write_text(text)
        with pytest.raises(InputError, match=r"vocab.json cannot be read: is no JSON"):
            load_space(folder, "scgpt")


@pytest.mark.torch
class TestWithTorch:
    """What needs torch (requirements-models.txt)."""

    @pytest.fixture
    def torch(self) -> Any:
        return pytest.importorskip(
            "torch", reason="needs torch: pip install -r requirements-models.txt"
        )

    @pytest.mark.parametrize("as_zip", [True, False])
    @pytest.mark.parametrize("kind", ["float32", "bfloat16"])
    def test_scgpt(self, torch: Any, tmp_path: Path, as_zip: bool, kind: str) -> None:
        state = {
            SCGPT_KEY: torch.tensor(WEIGHTS, dtype=getattr(torch, kind)),
            "other.weight": torch.zeros(2),
        }
        content = saved(torch, state, tmp_path, _use_new_zipfile_serialization=as_zip)
        space = load_space(scgpt(tmp_path / "scgpt", content), "scgpt")
        assert (space.symbols, space.source) == (("TP53", "KRAS"), "scGPT, scgpt/best_model.pt")
        assert space.vectors.tolist() == [[9, 10], [3, 4]]  # rows 4 and 1

    @pytest.mark.parametrize("as_zip", [True, False])
    def test_a_hostile_checkpoint_is_refused_by_name(
        self, torch: Any, tmp_path: Path, as_zip: bool
    ) -> None:
        marker = tmp_path / "marker"
        content = saved(
            torch,
            {SCGPT_KEY: torch.tensor(WEIGHTS), "more": Calls(os.system, f"touch {marker}")},
            tmp_path,
            _use_new_zipfile_serialization=as_zip,
        )
        for hostile in (content, touches(marker)[1][1]):
            with pytest.raises(
                UnsafeFile,
                match=rf"best_model.pt: a checkpoint that asks for {os.system.__module__}.system",
            ):
                load_space(scgpt(tmp_path / "scgpt", hostile), "scgpt")
        assert not marker.exists()

    def test_a_checkpoint_that_does_not_fit(self, torch: Any, tmp_path: Path) -> None:
        state = {SCGPT_KEY: torch.tensor(WEIGHTS)}
        whole = saved(torch, state, tmp_path)
        cases = [
            (whole[: len(whole) // 2], None, "damaged"),
            (b"", None, "damaged"),
            (b"text", None, "damaged"),
            (
                saved(torch, {"encoder.weight": torch.zeros(1)}, tmp_path),
                None,
                rf"encoder.weight, expected the tensor {SCGPT_KEY}",
            ),
            (saved(torch, [1], tmp_path), None, "holds list"),
            (whole, {"TP53": 6}, "'TP53' is row 6, expected one of 6 rows"),
        ]
        for content, vocabulary, message in cases:
            with pytest.raises(InputError, match=message) as caught:
                load_space(scgpt(tmp_path / "scgpt", content, vocabulary), "scgpt")
            assert len(str(caught.value).splitlines()) == 1


PICKLED_NAMES = [what for what, _ in touches(Path("marker"))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pickles")


@pytest.mark.parametrize("i", range(len(PICKLED_NAMES)), ids=PICKLED_NAMES)
def test_a_hostile_pickle_is_refused_by_name_and_does_nothing(tmp_path: Path, i: int) -> None:
    marker, file = tmp_path / "marker", tmp_path / "tokens.pkl"
    what, content = touches(marker)[i]
    file.write_bytes(content)
    with pytest.raises(UnsafeFile) as caught:
        read_plain_pickle(file)
    assert str(caught.value).startswith("tokens.pkl: a pickle ")
    assert what in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("i", range(6))
def test_the_hostile_pickles_are_hostile(tmp_path: Path, i: int) -> None:
    """An ordinary unpickler runs them: the test above proves something."""
    marker = tmp_path / "marker"
    pickle.loads(touches(marker)[i][1])
    assert marker.exists()


@pytest.mark.soak
@given(
    st.dictionaries(st.text(), st.integers()) | st.dictionaries(st.text(), st.text()),
    st.integers(0, 5),
)
def test_plain_dictionaries_come_back(folder: Path, found: dict[str, int], protocol: int) -> None:
    file = folder / "plain.pkl"
    file.write_bytes(pickle.dumps(found, protocol))
    assert read_plain_pickle(file) == found


@given(st.binary(max_size=60), st.integers(0, 60))
def test_damage_raises_nothing_but_an_input_error(folder: Path, junk: bytes, at: int) -> None:
    file = folder / "damaged.pkl"
    whole = pickle.dumps({"ENSG01": 4, "ENSG02": 70_000, "<pad>": 0})
    file.write_bytes(whole[:at] + junk)
    with suppress(InputError):
        found = read_plain_pickle(file)
        assert all(type(key) is str and type(value) in (int, str) for key, value in found.items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (pickle.dumps({"a": 1})[:-3], "damaged"),
        (pickle.dumps("text"), "a pickle of str"),
        (pickle.dumps({"a": 1, "b": "x"}), "str to int and str to str"),
        (pickle.dumps({1: 1}), "int to int"),
        (pickle.dumps({"a": {"b": 1}}), "str to dict"),
    ],
)
def test_other_content_is_described(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "x.pkl"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_plain_pickle(file)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_plain_pickle(tmp_path / "none.pkl")


@pytest.mark.parametrize(
    "value",
    [np.array([1.0]), np.array([1, "x"], dtype=object), np.float64(1), np.sum, open],
    ids=["numbers", "objects", "a number", "a function", "open"],
)
def test_arrays_and_functions_are_refused(tmp_path: Path, value: object) -> None:
    file = tmp_path / "genept.pickle"
    file.write_bytes(pickle.dumps({"STAT1": value}))
    with pytest.raises(UnsafeFile, match="asks for"):
        read_pickled_vectors(file)
