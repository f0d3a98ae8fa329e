"""Files of prompts: what is read is what was written, and what cannot be read is named with its line."""

from __future__ import annotations

import csv
import hashlib
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.runs import prompt_files
from core.runs.prompt_files import PromptFile, read_prompts, split_prompts, write_prompts

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0")).filter(
    lambda text: bool(text.strip())
)
PROMPTS = st.dictionaries(TEXT, TEXT, min_size=1, max_size=8)


def of(content: str | bytes, name: str = "mine.csv") -> PromptFile:
    return PromptFile(name, content if isinstance(content, bytes) else content.encode())


@given(PROMPTS, st.sampled_from(["id", "pair_id"]), st.booleans())
def test_a_csv_gives_back_every_prompt_as_it_was_written(
    prompts: dict[str, str], id_column: str, mark: bool
) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out)  # ends lines in CR LF, so that it quotes a lone CR
    writer.writerows(
        [
            ["prompt", "more", id_column],
            *((prompt, "left alone", key) for key, prompt in prompts.items()),
        ]
    )
    assert read_prompts(of(b"\xef\xbb\xbf" * mark + out.getvalue().encode())) == prompts


@given(PROMPTS, st.sampled_from(["id", "pair_id"]), st.booleans())
def test_json_lines_give_back_every_prompt_as_it_was_written(
    prompts: dict[str, str], key: str, ascii_only: bool
) -> None:
    lines = [
        json.dumps({key: name, "prompt": prompt, "more": 1}, ensure_ascii=ascii_only)
        for name, prompt in prompts.items()
    ]
    assert read_prompts(of("\n\n".join(lines) + "\n", "mine.jsonl")) == prompts
    assert list(read_prompts(of("\n".join(lines)))) == list(prompts)


def test_a_placeholder_is_text_like_any_other() -> None:
    assert read_prompts(of('id,prompt\na_b,"What does {pert} do, {} {{x}}?\r\n "\n')) == {
        "a_b": "What does {pert} do, {} {{x}}?\r\n "
    }


EXPECTED = (
    "expected a CSV with the columns id and prompt, or a JSON object with these keys on each line"
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "mine.csv: empty, expected a table"),
        ("id,prompt\n", f"mine.csv: holds no prompt, {EXPECTED}"),
        ("id,text\na_b,x\n", f"mine.csv: line 1: columns 'id, text'; {EXPECTED}"),
        (
            "pert,gene,prompt\na,b,x\n",
            f"mine.csv: line 1: columns 'pert, gene, prompt'; {EXPECTED}",
        ),
        ("id,pair_id,prompt\na,b,x\n", "line 1: columns 'id, pair_id, prompt'"),
        (
            "id,prompt\na,x\n\nb,y\na,z\n",
            "mine.csv: line 5: id 'a' stands on line 2 already, expected each once",
        ),
        (
            "id,prompt\na,x\nb, \n",
            "mine.csv: line 3: the prompt of 'b' is empty, expected the text to ask",
        ),
        ("id,prompt\n ,x\n", "mine.csv: line 2: empty id, expected that of a row"),
        (
            "id,prompt\na,x\nb\n",
            "mine.csv: line 3: wrong number of columns (1 columns, expected 2), expected a whole row",
        ),
        (
            'id,prompt\na,"x\n',
            "mine.csv: line 2: wrong number of columns (a quote that opens here is never closed",
        ),
        (b"id,prompt\na,\xff\n", "mine.csv: line 2: wrong encoding (byte 0xFF is not UTF-8)"),
        ("id,prompt\na,x\n".encode("utf-16-le"), "mine.csv: UTF-16, UTF-32 or binary"),
        (
            '{"id": "a", "prompt": "x"}\n{"id": "b"}\n',
            "mine.csv: line 2 cannot be read: prompt is missing, expected a text",
        ),
        (
            '{"id": "a", "prompt": "x"}\nb,y\n',
            "mine.csv: line 2 cannot be read: is no JSON (expected value",
        ),
        (
            b'{"id": "a", "prompt": "\xff"}',
            "mine.csv: line 1 cannot be read: 'utf-8' codec can't decode",
        ),
        ('[{"id": "a", "prompt": "x"}]', "line 1 cannot be read: is [{'id': 'a', 'prompt': 'x'}]"),
        ('{"id": 7, "prompt": "x"}', "mine.csv: line 1 cannot be read: id is 7, expected a text"),
        (
            '{"id": "a", "prompt": ["x"]}',
            "mine.csv: line 1 cannot be read: prompt is ['x'], expected a text",
        ),
        (
            '{"id": "a", "prompt": "\\ud800"}',
            "mine.csv: line 1 cannot be read: is no JSON",
        ),
        (
            '{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}',
            "line 2: id 'a' stands on line 1 already",
        ),
        ('{"id": "a", "prompt": "\\n"}', "mine.csv: line 1: the prompt of 'a' is empty"),
        ("[" * 100_000, "mine.csv: line 1 cannot be read: is no JSON"),
    ],
)
def test_what_cannot_be_read_is_named(content: str | bytes, said: str) -> None:
    with pytest.raises(InputError) as error:
        read_prompts(of(content))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_files, "MAX_BYTES", 10)
    with pytest.raises(InputError, match=r"mine\.csv: 14 bytes, expected at most 10"):
        read_prompts(of("id,prompt\na,x\n"))


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    try:
        found = read_prompts(of(content))
    except InputError:
        return
    assert all(key.strip() and prompt.strip() for key, prompt in found.items())


def test_a_file_is_known_by_its_content() -> None:
    assert (
        of("id,prompt\na,x\n", "one.csv").sha256 == hashlib.sha256(b"id,prompt\na,x\n").hexdigest()
    )


@pytest.mark.soak
@given(PROMPTS, TEXT)
def test_a_prompt_txt_holds_each_prompt_apart(prompts: dict[str, str], again: str) -> None:
    written = write_prompts(prompts, again)
    *asked, rest = split_prompts(f"{written}\n\nAn outline of another run.\n{{brace}}")
    assert asked == list(prompts.values())
    assert rest.endswith("An outline of another run.\n{brace}")
    assert json.loads(rest.partition("\n")[0]) == {"asked_again": again}
    assert read_prompts(of(written.rpartition("\n")[0])) == prompts  # which can be asked again


@pytest.mark.parametrize(
    "text", ["", "Ask about {pert}.", '{"id": "a"}\n{"id": "b", "prompt": 3}', "{\n}"]
)
def test_any_other_prompt_txt_is_one_prompt(text: str) -> None:
    assert split_prompts(text) == [text]
