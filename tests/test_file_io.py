"""Files that are replaced whole, by several threads of one process too."""

from __future__ import annotations

import threading
from pathlib import Path

from core.file_io import replace_file

THREADS, TIMES = 8, 60


def test_threads_that_replace_one_file_are_not_in_one_anothers_way(tmp_path: Path) -> None:
    """As two clicks on one button are."""
    file, errors = tmp_path / "job.json", list[OSError]()

    def write(content: bytes) -> None:
        try:
            for _ in range(TIMES):
                replace_file(file, content)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(bytes([65 + i]) * 10_000,)) for i in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert len(set(file.read_bytes())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]
