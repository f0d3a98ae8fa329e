"""What abstracts say of a pair: sentences, who is named in them, which come first; and never a failure for an answer."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Evidence
from core.evidence.render import MAX_CHARACTERS, render
from core.evidence.source_client import Literature
from core.evidence.tools.literature import (
    CONTEXT_WORDS,
    K1,
    Article,
    B,
    rank_texts,
    read_articles,
    split_sentences,
    symbol_pattern,
)
from tests.evidence.fake_sources import ARTICLES, PLANTED, WORLD, ask, run_with_client
from tests.fakes import sources as testing
from tests.strength import examples


def literature(
    folder: Path,
    mode: Literature,
    articles: tuple[Article, ...] = ARTICLES,
    gene: str | None = "Gm12345",
) -> tuple[Evidence, testing.FakeServer]:
    with testing.serve_fake_sources(replace(WORLD, articles=articles)) as server:
        return run_with_client(
            server, folder, lambda client: ask(client, "literature", "Jak1", gene), literature=mode
        ), server


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Loss of Stat1 reduced Il-1b. We measured Il-6.",
            ["Loss of Stat1 reduced Il-1b.", "We measured Il-6."],
        ),
        (
            "It fell, p < 0.05. We conclude that H2-K1 is needed.",
            ["It fell, p < 0.05.", "We conclude that H2-K1 is needed."],
        ),
        ("(It fell, p < 0.05.) Then it rose!", ["(It fell, p < 0.05.)", "Then it rose!"]),
        ("E. coli, i.e. bacteria, raised Il6 vs. Controls. Do cells die? Yes.", None),
        ("It abolished IL-1b. c-Myc was not changed. p65 was. mRNA fell.", None),
        ("Smith et al. Reported it, cf. Fig. 2A. NF-kB binds approx. 1.5 kb upstream.", None),
        ("", []),
        ("  no end", ["no end"]),
        ("Ends in an abbreviation, e.g.", ["Ends in an abbreviation, e.g."]),
    ],
)
def test_sentences(text: str, expected: list[str] | None) -> None:
    by_hand = {
        "E.": ["E. coli, i.e. bacteria, raised Il6 vs. Controls.", "Do cells die?", "Yes."],
        "It": ["It abolished IL-1b.", "c-Myc was not changed.", "p65 was.", "mRNA fell."],
        "Sm": ["Smith et al. Reported it, cf. Fig. 2A.", "NF-kB binds approx. 1.5 kb upstream."],
    }
    assert list(split_sentences(text)) == (by_hand[text[:2]] if expected is None else expected)


@given(st.text(alphabet='aB1 .!?()"\n-', max_size=80))
def test_no_character_is_lost_between_sentences(text: str) -> None:
    found = list(split_sentences(text))
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text)
    assert all(one == one.strip() != "" for one in found)


@pytest.mark.parametrize(
    ("symbol", "text", "named"),
    [
        ("Stat1", "STAT1-deficient cells", True),
        ("Stat1", "Stat1/2 and Stat10", True),
        ("Stat1", "Stat10, mStat1 and Stat1b", False),
        ("Nkx2", "Nkx2-1 is another gene", False),
        ("K1", "H2-K1 is another gene", False),
        ("H2-K1", "of (H2-K1)", True),
        ("Il6", "anti-Il6", True),
        ("a.c", "abc", False),
    ],
)
def test_who_is_named(symbol: str, text: str, named: bool) -> None:
    assert bool(symbol_pattern(symbol).search(text)) == named


WORDS = ("aaa", "bbb", "macrophages", "x", "y")


def by_hand(texts: list[list[str]], query: list[str]) -> list[float]:
    """BM25 word for word: idf = ln(1 + (N - n + 0.5) / (n + 0.5)), with k1 and b."""
    length = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for word in query:
            n, tf = sum(word in other for other in texts), text.count(word)
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            score += idf * tf / (tf + K1 * (1 - B + B * len(text) / length))
        scores.append(score)
    return scores


@examples(25)
@given(
    st.lists(
        st.lists(st.sampled_from(["aaa", "bbb", "macrophages", "x", "y"]), min_size=1, max_size=9),
        min_size=1,
        max_size=12,
    )
)
def test_scores_are_those_of_bm25(words: list[list[str]]) -> None:
    texts = [" ".join(line) for line in words]
    # a symbol counts as itself and as the word it is made of
    tokens = [
        [
            *line,
            *("#0" for word in line if word == "aaa"),
            *("#1" for word in line if word == "bbb"),
        ]
        for line in words
    ]
    expected = by_hand(tokens, ["#0", "#1", *CONTEXT_WORDS])
    found = {one.position: one.score for one in rank_texts(texts, ["aaa", "bbb"])}
    assert set(found) == {
        place for place, line in enumerate(words) if "aaa" in line or "bbb" in line
    }
    assert found == {place: pytest.approx(expected[place], rel=1e-4, abs=1e-6) for place in found}


@given(st.permutations(range(8)))
@examples(10)
def test_a_text_that_names_both_comes_first_wherever_it_stands(order: list[int]) -> None:
    texts = [
        "Jak1 Jak1 Jak1 macrophages",
        "Il6 Il6 macrophage expression",
        *(["Jak1"] * 5),
        "of Jak1 " + "and so on " * 50 + "Il6",
    ]
    ranked = rank_texts([texts[place] for place in order], ["Jak1", "Il6"])
    assert order[ranked[0].position] == 7
    assert [one.names_all for one in ranked] == [True, *[False] * 7]


def test_sentence_mode(tmp_path: Path) -> None:
    found, server = literature(tmp_path, "passage")
    passages = found.body["passages"]
    assert (found.status, found.body["mode"], len(passages)) == ("ok", "passage", 5)
    assert passages[0]["text"] in (PLANTED, "Jak1 and Gm12345")  # the title names both as well
    assert {one["text"] for one in passages[:2]} == {PLANTED, "Jak1 and Gm12345"}
    assert [one["co_mention"] for one in passages] == [True, True, False, False, False]
    planted = next(one for one in passages if one["text"] == PLANTED)
    assert (planted["pmid"], planted["year"], planted["title"]) == ("104", 2004, "Long after")
    searched = [one.params for one in server.requests if one.path == "esearch.fcgi"]
    assert [one["retmax"] for one in searched] == ["8"] * 3
    assert {one["term"] for one in searched} == {  # asked at once, so in any order
        '"Jak1"[Title/Abstract] AND "Gm12345"[Title/Abstract]',
        '"Jak1"[Title/Abstract] AND macrophage*[Title/Abstract]',
        '"Gm12345"[Title/Abstract] AND macrophage*[Title/Abstract]',
    }


def test_a_planted_sentence_comes_first(tmp_path: Path) -> None:
    without_title = tuple(article for article in ARTICLES if article.pmid != "105")
    found, _ = literature(tmp_path, "passage", without_title)
    assert found.body["passages"][0]["text"] == PLANTED
    found, server = literature(tmp_path / "other", "keyword", without_title)
    passages = found.body["passages"]
    assert [(one["pmid"], one["co_mention"]) for one in passages] == [("104", True), ("103", False)]
    assert PLANTED in passages[0]["text"]
    assert len([one for one in server.requests if one.path == "esearch.fcgi"]) == 1


@pytest.mark.parametrize("mode", ["keyword", "passage"])
def test_a_planted_sentence_comes_first_wherever_the_search_has_it(
    tmp_path: Path, mode: Literature
) -> None:
    apart = [
        Article(str(number), 2000, "A study", ("Jak1 was seen.", "Gm12345 was seen too."))
        for number in range(1, 8)
    ]
    found, _ = literature(
        tmp_path,
        mode,
        (*apart, Article("9", 2001, "Another study", ("Loss of Jak1 raises Gm12345.",))),
    )
    assert (found.body["passages"][0]["pmid"], found.body["passages"][0]["co_mention"]) == (
        "9",
        True,
    )


def test_at_most_four_abstracts(tmp_path: Path) -> None:
    many = tuple(
        Article(str(number), 2000, "Jak1 and Gm12345", ("Long. " * 300,)) for number in range(1, 8)
    )
    found, _ = literature(tmp_path, "keyword", many)
    assert [one["pmid"] for one in found.body["passages"]] == ["1", "2", "3", "4"]
    said = render(found)
    assert said.note == ""
    assert all(f"(PMID {number}, 2000, names both genes)" in said.text for number in range(1, 5))
    assert 3 * MAX_CHARACTERS < len(said.text) <= 4 * MAX_CHARACTERS


@pytest.mark.parametrize("mode", ["keyword", "passage"])
def test_nothing_found_is_empty(tmp_path: Path, mode: Literature) -> None:
    found, server = literature(tmp_path, mode, ())
    assert (found.status, found.body) == ("empty", {})
    assert found.retrieved_at is not None
    assert "efetch.fcgi" not in {one.path for one in server.requests}
    assert render(found).text == "literature, perturbation Jak1 and gene Gm12345: nothing known."


def test_a_symbol_that_pubmed_does_not_know_is_not_left_out_of_the_query(tmp_path: Path) -> None:
    found, _ = literature(tmp_path, "keyword", (Article("1", 2000, "Jak1 in macrophages", ()),))
    assert found.status == "empty"  # PubMed itself would answer with what it has on Jak1


def test_one_symbol_alone(tmp_path: Path) -> None:
    found, server = literature(tmp_path, "passage", gene=None)
    assert found.key == "Jak1|*"
    assert not any(one["co_mention"] for one in found.body["passages"])
    asked = {
        one.params["term"] for one in server.requests if one.path == "esearch.fcgi"
    }  # both at once
    assert asked == {
        '"Jak1"[Title/Abstract] AND macrophage*[Title/Abstract]',
        '"Jak1"[Title/Abstract]',
    }


def test_what_a_prompt_says(tmp_path: Path) -> None:
    found, _ = literature(tmp_path, "passage", ARTICLES[3:4])
    said, note = render(found)
    assert note == ""
    assert said == (
        f"literature, perturbation Jak1 and gene Gm12345: “{PLANTED}” (PMID 104, 2004, names both genes)"
    )


ARTICLE = """<?xml version="1.0"?><!DOCTYPE PubmedArticleSet SYSTEM "https://example.org/p.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">7</PMID><Article>
<Journal><JournalIssue><PubDate><MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate></JournalIssue></Journal>
<ArticleTitle>Of <i>Jak1</i>\n and CD4<sup>+</sup> cells.</ArticleTitle>
<Abstract><AbstractText Label="A">One &lt; two.</AbstractText><AbstractText/><AbstractText>Three.</AbstractText></Abstract>
</Article></MedlineCitation></PubmedArticle>{more}</PubmedArticleSet>"""


def test_articles_are_read_with_their_inner_markup() -> None:
    (found,) = read_articles(ARTICLE.replace("{more}", "<PubmedBookArticle/>"))
    assert found == Article("7", 1998, "Of Jak1 and CD4+ cells.", ("One < two.", "Three."))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no XML",
        "<html/>",
        "<PubmedArticleSet><PubmedArticle/></PubmedArticleSet>",
        '<!DOCTYPE x [<!ENTITY a "aaaa">]><PubmedArticleSet>&a;</PubmedArticleSet>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><PubmedArticleSet>&a;</PubmedArticleSet>',
    ],
)
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read_articles(text)
