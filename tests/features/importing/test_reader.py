"""Files are recognised by what is in them; anything else is one clear error."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import DeskError, InputError, UnknownFormat
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read, read_path
from core.features.importing.submissions import SubmissionTable
from tests.cases import zip_of

TRAIN = b"id,pert,gene,label\nA_B,A,B,up\n"
SUBMISSION = b"id,prediction_up,prediction_down\nA_B,0.1,0.2\nA_C,0.1,x\n"


def test_the_name_does_not_matter_and_the_hash_is_of_the_whole_file() -> None:
    for content in (SUBMISSION, zip_of({"out/submission.csv": SUBMISSION, "prompt.txt": b"Hello"})):
        table = read(content, "train.csv")
        assert isinstance(table, SubmissionTable)
        assert (len(table.rows), len(table.rejected)) == (1, 1)
        assert table.sha256 == hashlib.sha256(content).hexdigest()


def test_a_rejection_inside_a_zip_names_the_file_inside() -> None:
    table = read(zip_of({"out/submission.csv": SUBMISSION}), "run.zip")
    assert [(bad.file, bad.line) for bad in table.rejected] == [("run.zip/out/submission.csv", 3)]


def test_a_zip_may_hold_any_table() -> None:
    content = zip_of({"k562-dir.csv": b"pert,gene,label,split\nA,B,1,train\n"})
    table = read(content, "download.zip")
    assert isinstance(table, PairTable)
    assert table.cell_line == "k562"


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b'{"a": 1}', b"hello"])
def test_what_nobody_knows_is_an_unknown_format(content: bytes) -> None:
    with pytest.raises(UnknownFormat, match=r"^x\.csv: .*expected"):
        read(content, "x.csv")


def test_files_are_read_by_path(tmp_path: Path) -> None:
    path = tmp_path / "anything.txt"
    path.write_bytes(TRAIN)
    assert read_path(path) == read(TRAIN, "anything.txt")


def test_a_path_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read_path(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as stream:
        stream.truncate((1 << 30) + 1)  # sparse: takes no room
    with pytest.raises(InputError, match="1,073,741,825 bytes, expected at most 1,073,741,824"):
        read_path(path)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        gc.enable() if enabled else gc.disable()
        read(TRAIN, "x")
        with pytest.raises(InputError):
            read(b"pert,gene,label,split\n", "no task")
        assert gc.isenabled() is enabled
    finally:
        gc.enable() if before else gc.disable()


def read_or_message(content: bytes, name: str) -> PairTable | SubmissionTable | str:
    try:
        return read(content, name)
    except DeskError as error:
        return str(error)


headers = st.sampled_from(
    [
        b"id,pert,gene,label\n",
        b"id,pert,gene\n",
        b"pert,gene,label,split\n",
        b"id,prediction_up,prediction_down\n",
        b"id,prediction_up,prediction_down,reasoning_trace,tokens_used,num_tool_calls,model_name\n",
        b"id,prediction_up,prediction_down,prediction_up_seed42,reasoning_trace_seed42,prompt_tokens\n",
        b"\xef\xbb\xbfid,prediction_up\n",
    ]
)
cells = st.sampled_from(
    [b"A", b"A_B", b"up", b"0.333", b"1", b"nan", b"", b'"', b"\xff", b'"{""briefs"": {}}"', b"\0"]
)
rows = st.lists(cells | st.binary(max_size=5), min_size=1, max_size=7).map(b",".join)
tables = st.tuples(headers, st.lists(rows, max_size=5).map(b"\n".join)).map(b"".join)


@pytest.mark.soak
@given(
    content=st.binary(max_size=200) | tables,
    name=st.sampled_from(["x", "k562-de.csv"]),
    zipped=st.booleans(),
)
def test_any_bytes_give_a_table_or_one_of_our_errors(
    content: bytes, name: str, zipped: bool
) -> None:
    table = read_or_message(zip_of({"submission.csv": content}) if zipped else content, name)
    if isinstance(table, str):
        assert table.startswith(name)
        assert "\n" not in table
        return
    kept = len(table.pairs) if isinstance(table, PairTable) else len(table.rows)
    assert len(table.lines) == kept
    assert list(table.lines) == sorted(set(table.lines))
    assert not set(table.lines) & {bad.line for bad in table.rejected}
