from __future__ import annotations

import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, UnsafeFile
from core.embeddings.checkpoints import read_pickled_vectors, read_plain_pickle
from tests.embeddings.hostile import touches

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
