from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.config import REPOSITORY
from core.llm.kept_answer import ReplyCache
from core.llm.messages import Reply, TokenLogprob, Usage
from tests.llm.canned import ASK, completion

RAW = json.dumps(
    completion(
        "A ✓",
        message={"reasoning": "because"},
        logprobs={"content": [{"token": "A", "logprob": -0.5}]},
    )
)
USAGE = Usage(2, 30, 20, 5, 0, 12.5)
REPLY = Reply(
    "A ✓",
    "because",
    "stop",
    USAGE,
    (TokenLogprob("A", -0.5),),
    replace(ASK, top_logprobs=0).text,
    RAW,
)
CACHED = replace(REPLY, cached=True)


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "cache" / "llm.sqlite")


def names(cache: ReplyCache) -> set[str]:
    return {path.name for path in cache.path.parent.iterdir()}


def test_nothing_is_touched_before_the_first_call(cache: ReplyCache) -> None:
    assert not cache.path.parent.exists()


def test_what_is_kept_comes_back_marked(cache: ReplyCache) -> None:
    assert cache.get("k") is None
    cache.put("k", REPLY)
    assert cache.get("k") == CACHED
    assert cache.get("other") is None
    cache.close()
    assert cache.get("k") == CACHED
    assert ReplyCache(cache.path).get("k") == CACHED
    assert cache.problems == ()


def test_logprobs_come_back_only_where_they_were_asked_for(cache: ReplyCache) -> None:
    cache.put("k", replace(REPLY, request=ASK.text, logprobs=None))
    found = cache.get("k")
    assert found.logprobs is None


def test_a_later_reply_takes_the_place(cache: ReplyCache) -> None:
    cache.put("k", REPLY)
    cache.put("k", replace(REPLY, usage=Usage(attempts=1)))
    assert cache.get("k") == replace(REPLY, cached=True, usage=Usage(attempts=1))
    cache.run(
        lambda db: db.execute("UPDATE reply SET usage = json_set(usage, '$.calls', 1)")
    )  # as earlier versions did
    assert cache.get("k") == replace(REPLY, cached=True, usage=Usage(attempts=1))


@pytest.mark.parametrize("content", [b"", b"no database at all, but longer than a header" * 50])
def test_a_file_that_is_no_database(cache: ReplyCache, content: bytes) -> None:
    cache.path.parent.mkdir()
    cache.path.write_bytes(content)
    cache.put("k", REPLY)
    assert cache.get("k") == CACHED
    aside = [name for name in names(cache) if ".damaged-" in name]
    assert len(aside) == bool(content)  # an empty file is an empty database
    assert [problem.startswith(f"{cache.path}: damaged (") for problem in cache.problems] == [
        True
    ] * len(aside)
    assert [(cache.path.parent / name).read_bytes() for name in aside] == [content] * len(aside)


def test_a_file_that_was_damaged_between_two_runs(cache: ReplyCache) -> None:
    for number in range(200):
        cache.put(f"{number}", REPLY)
    cache.close()  # which empties the write-ahead log
    whole = cache.path.read_bytes()
    cache.path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    assert [cache.get(f"{number}") for number in range(200)] == [None] * 200
    cache.put("0", REPLY)
    assert cache.get("0") == CACHED
    assert len(cache.problems) == 1


@pytest.mark.parametrize("column", ["request", "raw", "usage"])
def test_a_row_that_is_damaged_is_a_miss(cache: ReplyCache, column: str) -> None:
    cache.put("k", REPLY)
    with sqlite3.connect(cache.path) as db:
        db.execute(f"UPDATE reply SET {column} = 'x'")
    assert cache.get("k") is None
    assert "a reply that cannot be read" in cache.problems[0]
    cache.put("k", REPLY)
    assert cache.get("k") == CACHED


@pytest.mark.parametrize("gone", ["folder", "file", "journals"])
def test_it_may_be_deleted_while_it_is_used(cache: ReplyCache, gone: str) -> None:
    other = ReplyCache(cache.path)
    cache.put("k", REPLY)
    assert other.get("k") == CACHED
    if gone == "folder":
        shutil.rmtree(cache.path.parent)
    elif gone == "file":
        cache.path.unlink()
    else:
        cache.path.with_name(f"{cache.path.name}-wal").unlink()
        cache.path.with_name(f"{cache.path.name}-shm").unlink()
    assert cache.get("k") in (None, CACHED)
    cache.put("k", REPLY)
    assert cache.get("k") == CACHED
    if gone != "journals":
        assert other.get("k") == CACHED
        assert ReplyCache(cache.path).get("k") == CACHED
    assert cache.problems == other.problems == ()


HOLDER = """
import sys
from pathlib import Path
from core.llm.kept_answer import ReplyCache
from tests.llm.test_reply_cache import CACHED, REPLY
cache = ReplyCache(Path(sys.argv[1]))
for number in range(50):
    cache.put(f"{number}", REPLY)
print("held", flush=True)
sys.stdin.readline()
assert cache.get("new") == CACHED
cache.put("newer", REPLY)
assert cache.problems == (), cache.problems
"""


@pytest.mark.soak
def test_a_file_that_another_process_holds_may_be_deleted_without_its_journals(
    cache: ReplyCache,
) -> None:
    command = [sys.executable, "-c", HOLDER, str(cache.path)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        cache.path.unlink()
        assert cache.get("0") is None
        cache.put("new", REPLY)
        assert cache.get("new") == CACHED
        holder.communicate("go on\n")
    assert holder.returncode == 0
    assert cache.get("newer") == CACHED
    assert cache.problems == ()


def test_a_place_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = ReplyCache(tmp_path / "file" / "llm.sqlite")
    cache.put("k", REPLY)
    assert cache.get("k") is None
    assert len(cache.problems) == 1  # said once
    assert "cannot be used" in cache.problems[0]


def test_a_file_that_another_process_keeps_locked(
    cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.base.net.response_cache.BUSY_S", 0.05)
    cache.put("k", REPLY)
    holder = sqlite3.connect(cache.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert ReplyCache(cache.path).get("k") == CACHED  # readers do not wait
    second = ReplyCache(cache.path)
    second.put("other", REPLY)
    assert "locked" in second.problems[0]
    holder.execute("ROLLBACK")
    holder.close()
    second.put("other", REPLY)
    assert cache.get("other") == CACHED


@pytest.mark.soak
def test_threads_share_one(cache: ReplyCache) -> None:
    missing = []

    def work(name):
        for number in range(50):
            cache.put(f"{name}-{number}", REPLY)
            if cache.get(f"{name}-{number}") != CACHED:
                missing.append(f"{name}-{number}")

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing == []
    assert cache.problems == ()


WRITER = """
import sys
from pathlib import Path
from core.llm.kept_answer import ReplyCache
from tests.llm.test_reply_cache import CACHED, REPLY
cache = ReplyCache(Path(sys.argv[1]))
for number in range(100):
    cache.put(f"{sys.argv[2]}-{number}", REPLY)
    assert cache.get(f"{sys.argv[2]}-{number}") == CACHED
assert cache.problems == (), cache.problems
"""


@pytest.mark.soak
def test_processes_share_a_file_that_none_has_made_yet(cache: ReplyCache) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(cache.path), str(name)],
            cwd=REPOSITORY,
            stderr=subprocess.PIPE,
        )
        for name in range(3)
    ]
    said = [writer.communicate()[1].decode() for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0, 0], said
    assert all(
        cache.get(f"{name}-{number}") == CACHED for name in range(3) for number in range(100)
    )
