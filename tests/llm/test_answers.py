from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.base.types import Label
from core.llm.answers import Unread, find_letter, read_label, read_option, read_probability
from tests.llm.answer_cases import LETTER_CASES, PROBABILITY_CASES

SUMMER = {"yes": 1.0, "no": 0.0, "insufficient evidence": 0.5, "insufficient": 0.5}


def of_reply(text: str, reader: object) -> object:
    """What a reader reads in a whole reply; None if it is unread."""
    found = reader(text)  # type: ignore[operator]
    return None if isinstance(found, Unread) else found


@pytest.mark.parametrize(("text", "want", "or_unread"), LETTER_CASES)
def test_letters_as_models_write_them(text: str, want: str | None, or_unread: bool) -> None:
    assert of_reply(text, read_label) in ([want, None] if or_unread else [want])


@pytest.mark.parametrize(("text", "want", "or_unread"), PROBABILITY_CASES)
def test_probabilities_as_models_write_them(text: str, want: float | None, or_unread: bool) -> None:
    found = of_reply(text, read_probability)
    assert (found is None and or_unread) or found == (want if want is None else pytest.approx(want))


TAGS = [
    "<answer>B</answer>", "<answer> B </answer>", "<Answer>b</Answer>", "<answer>Ｂ</answer>", "<answer>**B**</answer>",
    "<answer>B.</answer>", "<answer>(B)</answer>", "<answer>Option B</answer>", "<answer>B) down-regulated</answer>",
    "<answer>B because Rela activates it</answer>", "<answer>B, weil der Aktivator fehlt</answer>", "<answer>down</answer>",
    "<answer>downregulated</answer>", "<answer\n>B</answer>", "&lt;answer&gt;B&lt;/answer&gt;", "<answer>B</answer",
    "A or C? Neither.\n<answer>B", "In the form <answer>X</answer>:\n<answer>B</answer>", "<answer>\u00a0B\u202f</answer>",
]  # fmt: skip
FIELDS = [
    '{"answer": "B"}', '{"answer": "b) down"}', "{'answer': 'B'}", '{"final_answer": "B", "why": "A needs a repressor"}',
    '```json\n{\n  "reasoning": "Option A is out",\n  "answer": "B"\n}\n```', "The sum: $\\boxed{B}$.", "\\boxed{\\text{B}}",
    "[[ ## answer ## ]]\nB\n\n[[ ## completed ## ]]", '{"label": "down"}', '{"prediction": "DOWN"}', '{"Answer" : "B"}',
]  # fmt: skip
STATEMENTS = [
    "Answer: B", "answer: b", "ANSWER: B", "**Answer:** B", "**Answer: B**", "Answer: **B) down**", "Final Answer:\n\nB",
    "### Final answer\nB", "The answer is B.", "So the final answer is B, because Rela is an activator.", "My answer: B",
    "The correct answer is: B", "Therefore the answer must be (B).", "The letter is B", "Verdict: down", "Prediction: down",
    "Answer: downregulated", "Answer: B (not A)", "Answer：Ｂ", "Answer = B", "Final answer – B", "The best choice is B.",
    "Antwort: B", "Die richtige Antwort ist B.", "Die Antwort lautet B, da der Aktivator fehlt.", "Réponse : B",
    "La bonne réponse est donc B.", "Respuesta: B", "La respuesta correcta es B, porque falta el activador.", "Risposta: B",
    "La risposta è B.", "Resposta: B", "A resposta é B.", "Ответ: B", "Правильный ответ — B.", "答案：B", "因此，答案是：B。",
    "最终答案为B", "答えはBです。", "答え：Ｂ", "정답: B", "정답은 B입니다.", "Antwoord: B", "Svar: B",
    "Final: B", "final: b", "**Final:** B", "Reasons first.\n\nFinal: down",
]  # fmt: skip
LINES = [
    "B", "b", "B.", "(B)", "**B**", "`B`", "“B”", "B)", "Option B", "B) down", "Ｂ", "B\n", "\n\nB\n\n", "down", "Down.",
    "DOWN", "B\n\nReason: Rela is an activator, so A is out.", "B. The gene falls once its activator is gone.",
    "Reasons first.\n\nB", "(B) The gene falls.", "**B.** The gene falls.", "Long prose about protein kinase A.\nB",
    "B。因为Rela是激活因子。",
]  # fmt: skip


@pytest.mark.parametrize("text", TAGS + FIELDS + STATEMENTS + LINES)
def test_where_an_answer_is_marked(text: str) -> None:
    assert read_label(text) is Label.DOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(
            ("Answer: " + word, Label.UP)
            for word in ("up", "Upregulated", "up-regulated", "goes up", "increase", "increased.")
        ),
        *(
            ("Answer: " + word, Label.DOWN)
            for word in ("down", "decreased", "downregulation", "goes down")
        ),
        *(
            ("Answer: " + word, Label.NONE)
            for word in ("none", "no change", "No effect", "unchanged", "no significant change")
        ),
    ],
)
def test_words_of_the_three_outcomes(text: str, expected: Label) -> None:
    assert read_label(text) is expected


NAMES = [
    "Vitamin C", "It needs vitamin C.", "Protein kinase A", "Losing it affects protein kinase A.", "Type A cells", "B cells",
    "hepatitis B", "Group A streptococci", "Influenza A", "Hla-A", "C-reactive protein", "A. thaliana is a plant.", "Plan B",
    "C. elegans has no such gene.", "Answer: protein kinase A", "Answer: C. elegans has none", "Answer: B cells", "Grade: A",
    "The answer is A knockdown of Rela.", "Vitamina C", "Proteinkinase A", "la protéine kinase A", "维生素C", "蛋白激酶A",
    "A decrease of Mmp14 follows.", "B-cell, Hla-A, C_1", "AB",
]  # fmt: skip
PROSE = [
    "We set up the assay.", "Let me break down the evidence.", "The gene may go up.", "It is up to the cell.",
    "None of it helps.", "The immune response is up.", "The target is downregulated.", "Answer: up to five genes change.",
    "I choose between A and B.", "Die Expression steigt.", "L'expression augmente.", "La expresión disminuye.", "表达上调。",
    "発現が低下する。", "Up and down.", "A. B. C. are the options.", "(A) (B) (C) are possible.", "**A.** **B.** Both fit.",
    "B. B. King sang of it.", "C. A. Jones found it.",
]  # fmt: skip
DENIED = [
    "The answer is not B.", "The answer isn't B.", "The answer cannot be B.", "It is not true that the answer is B.",
    "If Rela were a repressor, the answer is B.", "I doubt that the answer is B.", "Why would the answer be B?", "Answer: B?",
    "Her answer is B.", "A naive answer is B.", "The wrong answer is B.", "Die Antwort ist nicht B.", "La réponse n'est pas B.",
    "La respuesta no es B.", "La risposta non è B.", "A resposta não é B.", "Ответ не B.", "答案不是B。", "答えはBではない。",
    "<answer>not B</answer>", "Answer: not B", "Answer: none of these, rather B or C",
]  # fmt: skip
REFUSALS = [
    "I can't help with that.", "I cannot discuss hepatitis C.\n\nC", "I'm sorry, but I can't assist with B.\nB",
    "I am unable to determine this.\n\nB", "I'm not able to predict that.\nNone", "I won't answer this.\nNone.",
    "Ich kann dabei nicht helfen.\nB", "Je ne peux pas répondre.\nB", "No puedo ayudar con eso.\nB", "我无法回答。\nB",
    "Не могу ответить.\nB",
]  # fmt: skip
SEVERAL = [
    "<answer>A</answer> or <answer>B</answer>", "<answer>A or B</answer>", "<answer>A, B</answer>", "<answer>A/B</answer>",
    "<answer>B, not A</answer>", "<answer>B) up</answer>", "Answer: A or B", "Answer: A, B", "Answer: B) up",
    "Answer: B (or A)", "The answer is A.\n\nThe answer is B.", "A\n\nB", "Answer: A\n\nB", "<answer>A</answer>\nAnswer: B",
    "Antwort: A oder B", "Réponse : A ou B", "答案：A或B",
    "A. Evidence for it\nB. Evidence against it",
]  # fmt: skip
SAID = [
    "I choose B", "I'll go with B.", "We conclude: B", "I pick A, then B", "Ich wähle B", "I cannot choose B", "我选 B",
    "That is why I choose B?", "I choose vitamin B",
]  # fmt: skip
TAKEN_BACK = [
    "The answer is A. No, the answer is B.", "The answer is B. Wait, no.",
    "Die Antwort ist A. Nein, die Antwort ist B.", "答案是A。不对，答案是B。",
    "<answer>A</answer>\nWait, that is wrong.", "<answer>A</answer> Actually, it activates it.",
    "A\n\nCorrection: it does not.", "<answer>A</answer>\nOn reflection, Rela is an activator.", "<answer>A</answer>. Hmm, no.",
    "<answer>A</answer>\nSorry, I mean B", "<answer>A</answer>\nKorrektur: B", "<answer>A</answer>\nEn fait, c'est B",
    "<answer>A</answer>\nEn realidad es B", "<answer>A</answer>\nПоправка: B", "<answer>A</answer>\n更正：B",
    "<answer>A</answer>\n訂正：B", "Answer: A\nNo, it is B.",
]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", *NAMES, *PROSE, *DENIED, *REFUSALS, *SEVERAL, *SAID, *TAKEN_BACK]
)
def test_what_is_unread(text: str) -> None:
    assert isinstance(read_label(text), Unread), read_label(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Vitamin C", "no answer is marked, expected one of A, B, C"),
        ("<answer>D</answer>", "'D' is marked as the answer, expected one of A, B, C"),
        ("<answer></answer>", "nothing is marked as the answer, expected one of A, B, C"),
        ("<answer>B) up</answer>", "B and up are named, expected one"),
        ("Answer: A\nAnswer: C", "2 different answers are marked, expected one"),
        ("I can't help with that.\nB", "it declines to answer"),
        ("<answer>A</answer>\nWait.", "what follows the answer takes it back"),
    ],
)
def test_the_reason_says_why_a_letter_is_unread(text: str, reason: str) -> None:
    assert read_label(text) == Unread(reason)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot say for sure, but <answer>B</answer>",
        "First pass: <answer>A</answer>\nOn reflection: <answer>B</answer>",
        '{"answer": "A"}\n<answer>B</answer>',
        "Answer: A, said the advocate.\n<answer>B</answer>",
        "A\n\nThat was the other side. Answer: B",
        "<answer>B</answer> holds although A would need an activator.",
    ],
)
def test_the_last_mark_of_the_strongest_form_counts(text: str) -> None:
    assert read_label(text) is Label.DOWN


def test_a_number_that_is_quoted_before_the_tag_is_no_answer() -> None:
    assert read_probability("80%\n\nsays the advocate of an effect.\n<prob>40</prob>") == 0.4
    assert read_probability("The probability is 80%, says one side.\n<prob>40</prob>") == 0.4


OTHER_EVENT = [
    "Probability (no effect): 80%", "**Probability (H0):** 80%", "The probability (that nothing happens) is 80%.",
    "Probability (unchanged) = 80%", "The probability of no effect is 80%.", "Chance (C): 80%",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHER_EVENT)
def test_a_number_of_another_event_is_unread(text: str) -> None:
    assert isinstance(read_probability(text), Unread)


@pytest.mark.parametrize(
    "text",
    ["Probability (in %): 62", "The probability (of an effect) is 62%.", "Probability (0-100): 62"],
)
def test_brackets_that_say_the_scale_or_the_event_change_nothing(text: str) -> None:
    assert read_probability(text) == 0.62


CALLS = [
    '<tool_call>\n{"name": "find_pairs", "arguments": {"gene": "Cd14", "label": "up", "prob": 50}}\n</tool_call>',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{"label": "up"}<|tool_call_end|>',
    '[TOOL_CALLS][{"name": "find_pairs", "arguments": {"label": "up", "prob": 50}}]',
    '{"name": "find_pairs", "parameters": {"answer": "A", "prob": "50"}}',
    '<function=find_pairs>{"answer": "A", "prob": 50}</function>', '[find_pairs(gene="Cd14", answer="A")]',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n```json\n{"label": "up", "prob": 50}\n```',
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_what_a_tool_is_given_is_no_answer(text: str) -> None:
    for found in (read_label(f"I will look.\n{text}"), read_probability(text)):
        assert isinstance(found, Unread)
        assert "tool call" in found.reason


PLAIN = [
    "B (down\u2011regulated)", "<answer>down\u2011regulated</answer>", "\\boxed{\\mathbf{B}}", "\\boxed{\\textbf{B}}",
    "<think>hm</think>\n<|begin_of_box|>B<|end_of_box|>", "<answer><letter>B</letter></answer>", "<final_answer>B</final_answer>",
    "Loss of an activator.\n\nFinal: B", "B (down) – because the activator is lost", "<answer><b>B</b></answer>", "Answer: Ⓑ",
    "It falls.\n**B – down**", "<|channel>thought\nmaybe A\n<channel|>B", "<answer>\nB\n</answer>\nThat is all.",
]  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_answers_in_the_dress_of_a_model(text: str) -> None:
    assert read_label(text) is Label.DOWN


def test_a_letter_is_never_taken_for_an_article_across_lines() -> None:
    for text in (
        "Answer: A\n\nOption B: would need an activator.",
        "The answer is A\nOption C: no effect was considered.",
    ):
        assert read_label(text) is Label.UP
    assert read_label('{"answer": "no_effect"}') is Label.NONE


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("<prob>62 (moderate)</prob>", 0.62),
        ("The probability is 0.62 (62%).", 0.62),
        ("<probability>62</probability>", 0.62),
        ("<prob>10</prob>\n(earlier I wrote <prob>45 )", 0.1),
    ],
)
def test_numbers_in_the_dress_of_a_model(text: str, want: float) -> None:
    assert read_probability(text) == pytest.approx(want)


NUMBERS = [
    "<prob>62</prob>", "<prob> 62 % </prob>", "<PROB>62</PROB>", "<prob>６２</prob>", "<prob>62\u202f%</prob>",
    "<prob>**62**</prob>", "<prob>62 percent</prob>", "<prob>62 Prozent</prob>", "<prob>62 pour cent</prob>",
    "<prob>62/100</prob>", "<prob>62.0</prob>", "<prob>62,0</prob>", "<prob>about 62</prob>", "<prob>62",
    "<prob>62\nbecause of Stat1", "<prob>62</prob", "62%", "62 %", "**62%**", "62", "62 out of 100",
    "It was 45%, 3 papers say so: <prob>62</prob>", "<prob>NN</prob>: <prob>62</prob>", "The base rate is 45%.\n62%",
    "62%\n\nThe base rate is 45%.", "Probability: 62%", "Probability: 62.", "**Probability:** 62%", "The probability is 62%.",
    "The probability of yes is 62%.", "My final estimate is about 62%.", '{"probability": 62}', '{"prob": "62%"}',
    "\\boxed{62\\%}", "[[ ## p_de ## ]]\n62", "Wahrscheinlichkeit: 62 %", "Die Wahrscheinlichkeit ist 62 %.",
    "La probabilité est de 62 %.", "Probabilidad: 62 %", "La probabilidad es 62%.", "Вероятность: 62 %", "概率：62%",
    "確率は62%です。", "확률: 62%", "Answer: 62", "<prob>62</prob>, above the base rate of 45%.",
]  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_where_a_probability_is_marked(text: str) -> None:
    assert read_probability(text) == 0.62


PER_CENT = [
    ("<prob>62,5</prob>", 0.625),
    ("0.7%", 0.007),
    ("<prob>1.5</prob>", 0.015),
    ("<prob>0</prob>", 0.0),
    ("<prob>-0</prob>", 0.0),
]
PER_CENT += [
    ("<prob>0.0</prob>", 0.0),
    ("<prob>1</prob>", 0.01),
    ("<prob>100</prob>", 1.0),
    ("<prob>0,5 %</prob>", 0.005),
]


@pytest.mark.parametrize(("text", "expected"), PER_CENT)
def test_numbers_are_per_cent(text: str, expected: float) -> None:
    assert read_probability(text) == pytest.approx(expected)


NO_NUMBERS = [
    "", "With a false discovery rate of 5% such a change is likely called.", "Depends on the 3 paralogs.",
    "It changes by log2(1.5).", "About 45% of such pairs change.", "I can't answer; about 45% of such pairs change.",
    "The false positive probability is 5%.", "The prior probability is 45%.", "The probability is 80% lower than before.",
    "The probability is not 62%.", "1.", "2)", "sixty-two percent", "Il6 2nd p53", "Etwa 45 % der Paare ändern sich.",
    "Environ 45 % des paires changent.", "概ね45%である。", "假阳性概率是5%。", "Alrededor del 45 % cambia.", "40% or 60%",
    "1, 2 and 3", "40-60%", "Mine: 60%", "p53 and 14-3-3 bind it.", "<prob>60-65</prob>", "<prob><5</prob>", "<prob>>95</prob>",
    "<prob>high</prob>", "<prob>1e2</prob>", "<prob>٦٢</prob>", "<prob>40</prob> or <prob>60</prob>",
    "<prob>62</prob>\nCorrection: 20%", "<prob>62</prob>\nKorrektur: 20 %", "−5", "Probability: 60-65%",
    "The probability is 62% to 70%.",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_numbers_that_are_no_answer(text: str) -> None:
    assert isinstance(read_probability(text), Unread), read_probability(text)


FRACTIONS = [
    "<prob>0.62</prob>", "<prob>.62</prob>", "<prob>0,62</prob>", "<prob>1.0</prob>", "<prob>0.05</prob>", "0.62",
    "Probability: 0.62", "The probability is 0.62.", '{"probability": 0.62}', "Wahrscheinlichkeit: 0,62", "概率：0.62",
    "<prob>０．６２</prob>",
]  # fmt: skip


@pytest.mark.parametrize("text", FRACTIONS)
def test_a_fraction_where_per_cent_was_asked_for_is_unread_with_that_reason(text: str) -> None:
    found = read_probability(text)
    assert isinstance(found, Unread)
    assert "may be a fraction or per cent, expected per cent from 0 to 100" in found.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<prob>120</prob>", "120 lies outside 0 to 100"),
        ("<prob>-5</prob>", "-5 lies outside 0 to 100"),
        ("120%", "120 lies outside 0 to 100"),
        (
            "<prob>1,000</prob>",
            "1,000 may have thousands or decimals, expected a number from 0 to 100",
        ),
        ("<prob>NN</prob>", "'NN' is marked as the answer, expected a number from 0 to 100"),
        ("Cbfb", "no answer is marked, expected a number from 0 to 100"),
    ],
)
def test_the_reason_says_why_a_number_is_unread(text: str, reason: str) -> None:
    assert read_probability(text) == Unread(reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1. There is no link.\n<answer>yes</answer>", 1.0),
        ("No way. <answer> No </answer> Yes, that is all.", 0.0),
        ("<answer>Insufficient evidence.</answer>", 0.5),
        ("So the answer:\n**insufficient**", 0.5),
        ("It may. Answer: yes", 1.0),
        ("Nothing speaks for it.\n**No.**", 0.0),
        ("Yes.", 1.0),
        ("Answer: NO", 0.0),
        ("insufficient\n\ninsufficient evidence", 0.5),  # two words for one class
    ],
)
def test_words_as_classes(text: str, expected: float) -> None:
    assert read_option(text, SUMMER) == expected


WORDS_IN_PROSE = [
    "There is no link between them.", "<answer>A</answer> There is no doubt.", "<answer>yes or no</answer>", "",
    "Answer: perhaps", "yes and no", "nobody eyes it", "There is nothing known: no",
]  # fmt: skip


@pytest.mark.parametrize("text", WORDS_IN_PROSE)
def test_words_of_prose_are_no_answer(text: str) -> None:
    assert isinstance(read_option(text, SUMMER), Unread)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("<answer>A</answer>", 8),
        ("x <answer>\n a </answer>", 12),
        ("<answer>Option A</answer>", 15),
        ("<answer>Ａ", 8),
    ],
)
def test_where_the_letter_stands(text: str, offset: int) -> None:
    assert find_letter(text, ("A", "B")) == ("A", offset)


# Words of prose of every kind that no marked answer is made of, in several languages, with names that hold letters and numbers.
_VOCABULARY = """the gene goes up down none no change of Rela a A vitamin C protein kinase A type B cells hepatitis C Hla-A 5%
45 % 0.62 3 paralogs log2(1.5) p53 not is was and or by since could be lowered raised I cannot say sorry sure set break it
macrophages das Gen steigt sinkt nicht keine le gène augmente baisse pas el gen sube baja no
поднимается падает 基因 上调 下调 変化なし
14-3-3 probability of a false positive about expected rate response stage C phase A"""
_WORDS = st.sampled_from(_VOCABULARY.split())
_PROSE = st.lists(_WORDS, min_size=4, max_size=40).map(
    lambda words: f"We read: {' '.join(words)} here."
)


@given(st.lists(_PROSE, min_size=1, max_size=4).map("\n".join))
def test_text_without_a_marked_answer_is_never_read(text: str) -> None:
    assert isinstance(read_label(text), Unread)
    assert isinstance(read_probability(text), Unread)


# Pieces that the parsers look for, so that random texts come close to what they read.
PIECES = [
    "<prob>",
    "</prob>",
    "<answer>",
    "</answer>",
    "Answer:",
    "A",
    "B",
    "C",
    " ",
    "\n",
    "%",
    ".",
    ",",
    "-",
    "1",
    "62",
    "1e9",
    "x",
    "(",
    "?",
]
texts = st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@pytest.mark.soak
@given(texts)
@example("<prob>" + "9" * 400 + "</prob>")
@example("<prob>٣٥</prob>")
def test_no_text_makes_them_raise_or_leave_their_range(text: str) -> None:
    found = read_probability(text)
    assert isinstance(found, Unread) or 0 <= found <= 1
    assert read_label(text) in (Label.UP, Label.DOWN, Label.NONE) or isinstance(
        read_label(text), Unread
    )
    place = find_letter(text, ("A", "B"))
    assert isinstance(place, Unread) or text[place[1]].upper() == place[0]


@given(st.integers(0, 100), _PROSE)
def test_a_tag_is_read_in_any_prose_around_it(percent: int, text: str) -> None:
    read = read_probability(f"{text} <prob>{percent}</prob> {text}")
    assert read == percent / 100


HOSTILE = [
    "1", " ", "<prob>", "<prob>1 ", "<prob> ", "1.", "1 ", "1%", "-", "A ", ". A ", ".\n", "answer", "answer:", "<answer>",
    "A a ", "**", "answer is ", "A) ", "A. B", '"answer": "', "\\boxed{", "I cannot ", "not the answer is B ", "&lt;",
    "< answer", "\nwait", "(",
]  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    """Sixteen times the text may take 64 times as long, not 256 times, as it would where time grew as the square."""

    def seconds(n):
        text = piece * (n // len(piece))
        best = float("inf")
        for _ in range(3):
            start = (
                time.thread_time()
            )  # of this process: the machine may do something else meanwhile
            read_probability(text), read_label(text)
            best = min(best, time.thread_time() - start)
        return best

    assert seconds(160_000) < 64 * seconds(10_000) + 0.05


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("Answer:\n\nA) Knockdown of Alg1 results in up‑regulation of Gm49249.", Label.UP),
        ("It binds.\n\n**C) Knockdown of Alg1 does not significantly affect Adal.**", Label.NONE),
        (
            "A) up\nB) down\nThe best choice is:\n\nB) Knockdown of X results in down-regulation of Y.",
            None,
        ),  # a list
        ("It is known from\nC. Elegans studies.", None),
        ("See\nB. Smith, 2020", None),
    ],
)
def test_the_last_line_may_be_an_option_with_its_text(reply: str, label: Label | None) -> None:
    answer = read_label(reply)
    assert (None if isinstance(answer, Unread) else answer) == label
