"""A zip is opened by content, in memory, and only as far as its limits go."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base import archives
from core.base import archives as compressed
from core.base.archives import is_zip, open_csv, pack
from core.base.archives import unpack as unpack_members
from core.base.errors import InputError, UnsafeFile
from core.base.file_limits import MAX_RATIO
from tests.cases import zip_of

CSV = b"id,prediction_up,prediction_down\na_b,0.1,0.2\n"


def unpack(content: bytes, max_bytes: int = 1 << 30) -> bytes:
    stream, _ = open_csv(content, "z.zip", max_bytes)
    return io.BufferedReader(stream).read()


@pytest.mark.parametrize(
    ("members", "chosen"),
    [
        (["submission.csv", "prompt.txt", "tools/x.py"], "submission.csv"),
        (["out/deep/Submission.CSV", "out/other.csv"], "out/deep/Submission.CSV"),
        (["results.csv", "prompt.txt"], "results.csv"),
        (["submission.csv", "__MACOSX/submission.csv"], "submission.csv"),
        (["a.csv", "__MACOSX/._a.csv"], "a.csv"),
    ],
)
def test_the_csv_is_found_by_name_or_by_being_the_only_one(members: list[str], chosen: str) -> None:
    content = zip_of({path: CSV if path == chosen else b"other" for path in members})
    assert is_zip(content)
    assert open_csv(content, "z.zip")[1] == chosen
    assert unpack(content) == CSV


@pytest.mark.parametrize(
    ("members", "count", "named"),
    [
        ([], 0, "nothing"),
        (["inner.zip", "prompt.txt"], 0, "'inner.zip', 'prompt.txt'"),
        (["a.csv", "b.csv"], 2, "'a.csv', 'b.csv'"),
        (
            ["x/submission.csv", "y/submission.csv", "c.csv"],
            2,
            "'x/submission.csv', 'y/submission.csv'",
        ),
    ],
)
def test_no_csv_or_several_is_an_error_with_names(
    members: list[str], count: int, named: str
) -> None:
    with pytest.raises(
        InputError,
        match=f"{count} CSV files to choose from in {named}, expected one submission.csv",
    ):
        open_csv(zip_of(dict.fromkeys(members, b"x")), "z.zip")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/submission.csv",
        "../submission.csv",
        "a/../../b.py",
        "..\\x.csv",
        "C:/x.csv",
        "\\\\host\\x.csv",
    ],
)
def test_paths_that_leave_the_archive_are_refused(path: str) -> None:
    with pytest.raises(UnsafeFile, match="leaves the archive"):
        open_csv(zip_of({"submission.csv": CSV, path: b"x"}), "z.zip")


def test_a_name_that_would_break_a_message_is_refused() -> None:
    with pytest.raises(UnsafeFile, match=r"'a\\nb\.csv' has control characters"):
        open_csv(zip_of({"a\nb.csv": CSV}), "z.zip")


def test_links_are_refused() -> None:
    content = io.BytesIO()
    link = zipfile.ZipInfo("submission.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UnsafeFile, match=r"'submission\.csv' is a link"):
        open_csv(content.getvalue(), "z.zip")


def patched(content: bytes, offset: int, value: bytes) -> bytes:
    """The zip with bytes of its first central directory entry replaced (APPNOTE 4.3.12)."""
    at = content.index(b"PK\x01\x02") + offset
    return content[:at] + value + content[at + len(value) :]


def test_encrypted_members_are_refused() -> None:
    with pytest.raises(UnsafeFile, match="is encrypted"):
        open_csv(patched(zip_of({"submission.csv": CSV}), 8, b"\x01\x00"), "z.zip")


def test_other_ways_of_packing_are_refused() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("submission.csv", CSV)
    with pytest.raises(InputError, match="packed by method 14, expected deflate"):
        open_csv(content.getvalue(), "z.zip")


def test_more_than_the_limit_in_all_is_refused() -> None:
    text = bytes(range(256)) * 4  # 1,024 bytes that hardly pack
    content = zip_of({"submission.csv": text, "prompt.txt": text})
    assert unpack(content, 2048) == text
    with pytest.raises(UnsafeFile, match="unpack to 2,048, expected at most 2,047"):
        open_csv(content, "z.zip", 2047)


@pytest.mark.soak
def test_a_log_may_have_a_member_for_each_of_many_rows() -> None:
    many = {f"samples/{n}.json": b"" for n in range(12_000)}
    assert unpack(zip_of({"submission.csv": CSV, **many})) == CSV


@pytest.mark.parametrize(
    ("limit", "of"), [("MAX_MEMBERS", "3 members"), ("MAX_LIST_BYTES", "bytes of names of members")]
)
def test_too_many_members_are_refused_before_their_list_is_read(
    monkeypatch: pytest.MonkeyPatch, limit: str, of: str
) -> None:
    content = zip_of({"submission.csv": CSV, "a": b"", "b": b""})
    monkeypatch.setattr(compressed, limit, 2)
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", None)  # what reads the list
    for read in (
        lambda: open_csv(content, "z.zip"),
        lambda: archives.unpack(content, "z.zip", bool),
    ):
        with pytest.raises(UnsafeFile, match=f"{of}, expected at most 2"):
            read()


@pytest.mark.soak
def test_a_bomb_is_refused_by_its_ratio() -> None:
    # 10 MB of one letter pack about 1,000 to 1
    with pytest.raises(UnsafeFile, match="bytes that unpack to 10,000,000, expected at most"):
        open_csv(zip_of({"submission.csv": b"a" * 10_000_000}), "z.zip")


@pytest.mark.soak
def test_a_bomb_beside_ballast_is_found_while_unpacking() -> None:
    # 100 kB that do not pack bring the archive's ratio to 50, but the member's own stays 1,000
    ballast = b"".join(struct.pack("<I", (i * 2654435761) % 2**32) for i in range(50_000))
    content = zip_of({"submission.csv": b"a" * 10_000_000, "ballast.bin": ballast})
    with pytest.raises(UnsafeFile, match=r"z\.zip/submission\.csv: unpacks to more than"):
        unpack(content)


def test_a_header_that_claims_too_little_is_damage() -> None:
    content = zip_of({"submission.csv": b"a" * 10_000_000})
    with pytest.raises(InputError, match=r"z\.zip/submission\.csv: damaged zip"):
        unpack(patched(content, 24, struct.pack("<I", 1000)))


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.95])
def test_a_cut_zip_is_damaged(keep: float) -> None:
    content = zip_of({"submission.csv": CSV * 20})
    with pytest.raises(InputError, match="damaged zip"):
        unpack(content[: int(len(content) * keep)])


def test_flipped_bits_in_the_data_are_damage() -> None:
    content = bytearray(zip_of({"submission.csv": bytes(range(256))}))
    content[60] ^= 0xFF  # local header: 30 bytes and 14 of the name; data from 44 on
    with pytest.raises(InputError, match="damaged zip"):
        unpack(bytes(content))


@given(st.data())
def test_any_damage_is_an_input_error(data: st.DataObject) -> None:
    content = bytearray(zip_of({"submission.csv": CSV * 5, "tools/é.py": b"x"}))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        found = unpack(bytes(content))
    except InputError:
        return
    assert found in (CSV * 5, b"x")  # the checksum lets nothing else through


def test_no_single_byte_can_break_it() -> None:
    content = zip_of({"submission.csv": CSV * 5, "tools/x.py": b"x"})
    read = set()
    for at in range(len(content)):
        for value in {0, 0xFF, content[at] ^ 1}:
            damaged = content[:at] + bytes([value]) + content[at + 1 :]
            try:
                read.add(unpack(damaged))
            except InputError:
                continue
    assert read == {CSV * 5}


def test_the_members_that_are_wanted() -> None:
    content = zip_of(
        {"submission.csv": CSV, "tools/": b"", "tools/a.py": b"pass", "notes.txt": b"x"}
    )
    paths, found = archives.unpack(content, "z.zip", lambda path: not path.endswith(".txt"))
    assert paths == ("submission.csv", "tools/a.py", "notes.txt")
    assert found == {"submission.csv": CSV, "tools/a.py": b"pass"}


def test_members_are_refused_as_the_csv_is() -> None:
    bomb = zip_of({"prompt.txt": b"a" * 10_000_000})
    with pytest.raises(UnsafeFile, match="expected at most"):
        archives.unpack(bomb, "z.zip", bool)
    liar = patched(bomb, 24, (100).to_bytes(4, "little"))  # says that it unpacks to 100 bytes
    with pytest.raises((UnsafeFile, InputError), match="prompt"):
        archives.unpack(liar, "z.zip", bool)
    with pytest.raises(UnsafeFile, match="leaves the archive"):
        archives.unpack(zip_of({"../a": b"x"}), "z.zip", bool)
    with pytest.raises(InputError, match="damaged zip"):
        archives.unpack(zip_of({"a.csv": b"x"})[:-8], "z.zip", bool)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.py", b"pass")
    with pytest.raises(InputError, match="packed by method 12"):
        archives.unpack(packed.getvalue(), "z.zip", bool)


def test_packing_gives_the_same_bytes_and_what_unpacking_takes() -> None:
    members = {
        "b.txt": b"later",
        "a/plain.bin": bytes(range(256)),
        "none": b"",
        "dense": bytes(1_000_000),
    }
    content = pack(members)
    assert content == pack(dict(members))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = archive.infolist()
    assert [info.filename for info in found] == list(members)
    assert {info.date_time for info in found} == {(1980, 1, 1, 0, 0, 0)}
    assert {info.external_attr >> 16 for info in found} == {stat.S_IFREG | 0o644}
    # a million zeros deflate to a thousandth, which nobody would unpack
    assert max(info.file_size / max(info.compress_size, 1) for info in found) <= MAX_RATIO / 2
    assert unpack_members(content, "z.zip", lambda _: True) == (tuple(members), members)


def with_size(content: bytes, at: int, value: int) -> bytes:
    """A zip of one member, with a size in its list changed."""
    found = bytearray(content)
    entry = found.index(b"PK\x01\x02")
    found[entry + at : entry + at + 4] = struct.pack("<I", value)
    return bytes(found)


UNPACKED_SIZE = 24  # where it stands in an entry of the list


def test_a_member_that_is_there_twice_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("submission.csv", CSV)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("submission.csv", b"other")
    with pytest.raises(UnsafeFile, match=r"'submission\.csv' is there 2 times"):
        unpack(out.getvalue())
    with pytest.raises(UnsafeFile, match="is there 2 times"):
        unpack_members(out.getvalue(), "z.zip", lambda _: True)


def test_a_member_is_no_longer_than_its_header_says() -> None:
    sound = zip_of({"submission.csv": CSV * 100})
    with pytest.raises(InputError, match=r"damaged zip|unpacks to more than"):
        unpack(with_size(sound, UNPACKED_SIZE, 50))


def test_a_member_by_zstandard_is_no_longer_than_its_header_says() -> None:
    """Arrow unpacks it, and knows nothing of the zip's headers."""
    plain = bytes(10_000_000)
    packed = pa.compress(plain, "zstd", asbytes=True)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("submission.csv", packed)
    content = bytearray(with_size(out.getvalue(), UNPACKED_SIZE, 50_000))
    entry = content.index(b"PK\x01\x02")
    content[8:10] = content[entry + 10 : entry + 12] = struct.pack("<H", 93)
    with pytest.raises(UnsafeFile, match="unpacks to more than"):
        unpack(bytes(content))
