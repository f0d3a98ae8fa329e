"""Parts of files: what killed processes left is removed by whoever writes there next, and what living ones write is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from core.base import file_io
from core.base.file_io import part_of, remove_folder, remove_parts, replace_file, replacing

THREADS, TIMES = 8, 60
# Each begins to write PATH, prints a line, and waits to be killed.
WRITERS = {
    "a file": "with file_io.part_of(path) as part: part.write_bytes(b'x' * 100_000); wait()",
    "a folder": "with file_io.part_of(path, is_folder=True) as part: (part / 'a').write_bytes(b'x'); wait()",
    "an open file": "with file_io.replacing(path) as out: out.write(b'x' * 100_000); wait()",
    "an open file before its first byte": "with file_io.replacing(path): wait()",
    "a folder that was to go": "path.mkdir(); file_io.shutil.rmtree = lambda *_, **__: wait(); file_io.remove_folder(path)",
    "a file before its name": "file_io.Path.replace = lambda *_: wait(); file_io.replace_file(path, b'x')",
}
PROGRAM = """
import sys, time
from core.base import file_io
path = file_io.Path(sys.argv[1])
def wait():
    print('begun', flush=True)
    time.sleep(600)
"""


def begin(what: str, path: Path) -> subprocess.Popen[str]:
    """A process that has begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + WRITERS[what], str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "begun\n"
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.soak
@pytest.mark.parametrize("what", WRITERS)
def test_what_a_killed_process_left_is_removed_by_the_next_backup(
    what: str, tmp_path: Path
) -> None:
    process = begin(what, tmp_path / "out.zip")
    part = f".out.zip.{process.pid}.part"
    try:
        if what != "a folder that was to go":  # which anybody may remove
            assert remove_parts(tmp_path) == []  # its process lives
        assert names(tmp_path) == [part]
    finally:
        kill(process)
    assert names(tmp_path) == [part]
    with replacing(tmp_path / "another"):
        pass
    assert names(tmp_path) == ["another"]


def test_a_lock_keeps_a_part(tmp_path: Path) -> None:
    with part_of(tmp_path / "a") as part:
        part.write_bytes(b"x")
        assert remove_parts(tmp_path) == []
        assert part.read_bytes() == b"x"
    assert names(tmp_path) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    kept = ["a.part", ".a.part", "..99999999.part", ".a.x.part", "download.zip.part"]
    for name in kept:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".linked.999999999.part").symlink_to(tmp_path / "a.part")
    assert remove_parts(tmp_path) == []
    assert names(tmp_path) == sorted([*kept, ".linked.999999999.part"])


def test_a_file_is_replaced_whole_and_its_folder_cleaned_once(tmp_path: Path) -> None:
    (tmp_path / ".old.999999999.part").write_bytes(b"x")
    for content in (b"one", b"two"):
        replace_file(tmp_path / "a", content)
        assert (tmp_path / "a").read_bytes() == content
    assert names(tmp_path) == ["a"]
    assert remove_parts(tmp_path / "missing") == []


def test_a_folder_is_gone_before_anything_in_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a").write_bytes(b"x")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(
            file_io.shutil, "rmtree", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        remove_folder(tmp_path / "models")
    assert not (tmp_path / "models").exists()


def test_a_file_that_cannot_be_replaced_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError) as error:  # noqa: PT011  # whichever the system says
        replace_file(tmp_path / "a", b"x")
    assert error.value.filename == str(tmp_path / "a")
    assert names(tmp_path) == ["a"]


def test_threads_that_replace_one_file_are_not_in_one_anothers_way(tmp_path: Path) -> None:
    """As two clicks on one button are."""
    file, errors = tmp_path / "job.json", list[OSError]()

    def write(content):
        try:
            for _ in range(TIMES):
                replace_file(file, content)
        except OSError as error:
            errors.append(error)

    threads = [
        threading.Thread(target=write, args=(bytes([65 + i]) * 10_000,)) for i in range(THREADS)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert len(set(file.read_bytes())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


@pytest.mark.parametrize("process", [1, os.getpid()], ids=["the first", "this one"])
def test_a_process_that_was_given_the_id_of_a_killed_one_keeps_nothing(
    tmp_path: Path, process: int
) -> None:
    """As in a container, where each start gives the same ids."""
    left = tmp_path / f".a.{process}.part"
    left.mkdir()
    (left / "stale").write_bytes(b"x")
    os.utime(left, (1_000_000, 1_000_000))
    with part_of(tmp_path / "a", is_folder=True) as part:
        assert [path for path in tmp_path.rglob("*") if path != part] == []
    assert names(tmp_path) == []


TEMPORARY = """
import sys, time
from core.base.file_io import temporary_folder
with temporary_folder("upload") as folder:
    (folder / "a").write_bytes(b"x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_temporary_folder_of_a_killed_process_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    strangers = tmp_path / "perturbdesk-notes"
    strangers.mkdir()
    living, killed = (
        subprocess.Popen([sys.executable, "-c", TEMPORARY], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    places = [
        Path(str(process.stdout and process.stdout.readline()).strip())
        for process in (living, killed)
    ]
    try:
        kill(killed)
        assert all((place / "a").exists() for place in places)
        with file_io.temporary_folder("upload") as folder:
            assert folder.stat().st_mode & 0o777 == 0o700
            assert sorted(tmp_path.iterdir()) == sorted([strangers, places[0], folder])
        assert sorted(tmp_path.iterdir()) == sorted([strangers, places[0]])
    finally:
        kill(living)
