"""`rubric run claims`: claims of the small debate as the scripted server reads them, checked and labelled."""

from __future__ import annotations

import json

import pytest

from core.features.arguments import labels, readings
from core.features.arguments import rates as rubric_rates
from core.features.arguments.claims import CLAIMS, Claim, Knowledge, narrow_pathways
from core.features.arguments.readings import ReadingSettings
from core.features.arguments.rubric_tables import TextLabel
from core.features.importing.actions import import_upload
from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.fakes.scripted import Script, serving, write_reply

RUBRIC = CLAIMS.schema.rubric
PAIRS = {"Pa|Ga": 1, "Pa|Gb": -1}


def import_regulation(workspace: Workspace) -> None:
    pack = json.dumps({"meta": {"source": "somewhere"}, "pairs": PAIRS}).encode()
    assert import_upload(workspace, pack, "collectri.json").kind == "regulation"


@pytest.mark.soak
def test_claims_are_counted_by_role_checked_and_chosen(small_workspace: Workspace) -> None:
    """The scripted reader finds "Pa regulates Ga", and in the row of Gb it invents a quotation as well."""
    place = small_workspace.settings.workspace
    invented = (
        '{"subject": "Pa", "relation": "binds", "object": "Ga", "quote": "They bind each other."}'
    )
    script = Script(
        answer=lambda prompt: (
            write_reply(prompt).replace("[{", f"[{invented}, {{")
            if "Target gene: Gb" in prompt.text
            else write_reply(prompt)
        )
    )
    with serving(script) as url:
        assert "no pack" in core(place, "rubric", "run", "claims", "debate", "--endpoint", url).out
    import_regulation(small_workspace)
    found = core_json(place, "rubric", "run", "claims", "debate")  # the newest reading
    # Each brief says "Pa regulates Ga", which in the row Pa_Ga is the question itself; one says what is no claim.
    counts = found["counts"]
    assert {
        count["role"]: (count["texts"], count["having"], count["answers"]) for count in counts
    } == {
        "EFFECT": (3, 3, 1),
        "NULL": (3, 3, 1),
        "UP": (3, 2, 1),
        "DOWN": (3, 3, 1),
    }
    assert {count["role"]: count["supported"] for count in counts} == {
        "EFFECT": 2,
        "NULL": 2,
        "UP": 1,
        "DOWN": 2,
    }
    assert all(count["contradicted"] == count["not_known"] == 0 for count in found["counts"])
    assert (found["n_findings"], found["answers"]) == (7, 4)
    assert found["roles"]["all"]["answers"] == {
        "yes": 7,
        "no": 5,
    }  # four briefs only answer the question, one says nothing
    assert [(pack["pack"], pack["kind"]) for pack in found["packs"]] == [
        ("collectri", "regulation")
    ]
    assert {(each["pack"], each["entry"]) for each in found["findings"]} == {
        ("collectri", "Pa activates Ga")
    }
    assert [each["rubric"] for each in found["worth"]["rubrics"]] == [
        "claim that is supported"
    ]  # no row has another one
    of_up = [each for each in found["findings"] if each["role"] == "UP"]
    assert [
        (each["pair_id"], each["subject"], each["object"], each["is_answer"]) for each in of_up
    ] == [
        ("Pa_Ga", "Pa", "Ga", True),
        ("Pb_Ga", "Pa", "Ga", False),
    ]
    assert (found["unread"], found["quotes"], found["invented"]) == (0, 11, 3)
    assert all("Pa regulates Ga" in each["quote"] for each in found["findings"])
    told = core(place, "rubric", "run", "claims", "debate", "--reading", found["reading"]).out
    assert "3 of 14 quotations are not in the text" in told


def test_without_a_reading_the_command_says_how_to_make_one(small_workspace: Workspace) -> None:
    done = core(small_workspace.settings.workspace, "rubric", "run", "claims", "debate")
    assert (done.status, done.out, len(done.err.splitlines())) == (1, "", 1)
    assert "rubric run claims debate --judge model --endpoint URL" in done.err


@pytest.mark.soak
def test_labels_of_people_correct_the_reader(small_workspace: Workspace) -> None:
    """By the labels one brief with a claim lies among those without: of 8 that have one the reader finds 7."""
    place = small_workspace.settings.workspace
    with serving() as url:
        reading = readings.start_reading(
            small_workspace, RUBRIC, "debate", ReadingSettings(endpoint=url)
        )
    answers = readings.answers(small_workspace, RUBRIC, "debate", "model")[0]
    said = {(each.pair_id, each.seq): str(each.answer) for each in answers.itertuples()}
    missed = next(key for key, answer in said.items() if answer == "no")
    sample = labels.draw_sample(small_workspace, RUBRIC, "debate", 12)
    given = [
        TextLabel(
            text.pair_id,
            text.seq,
            text.role,
            "yes" if key == missed else said[key],
            "Ada",
            sample=sample.id,
        )
        for text in sample.texts
        if (key := (text.pair_id, text.seq))
    ]
    labels.give_labels(small_workspace, RUBRIC, "debate", given)
    rates = core_json(place, "rubric", "rate", "claims", "debate", "--reading", reading.id)[
        "roles"
    ]["all"]
    assert (rates["n"], rates["yes"], rates["labels"], rates["missing_labels"]) == (12, 7, 12, 38)
    assert (rates["sensitivity"]["estimate"], rates["specificity"]["estimate"]) == (7 / 8, 1)


@pytest.mark.soak
def test_labels_of_claims_say_how_many_are_right(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scripted reader lists 11 claims; by hand one is wrong."""
    place = small_workspace.settings.workspace
    with serving() as url:
        reading = readings.start_reading(
            small_workspace, RUBRIC, "debate", ReadingSettings(endpoint=url)
        )
    right = readings.find_rubric(small_workspace, "right_claim")
    sample = labels.draw_sample(small_workspace, right, reading.id, 20)
    given = [
        TextLabel(
            text.pair_id, text.seq, text.role, "yes" if number else "no", "Ada", sample=sample.id
        )
        for number, text in enumerate(sample.texts)
    ]
    labels.give_labels(small_workspace, right, reading.id, given)
    shown = ("rubric", "rate", "right_claim", reading.id)
    assert core_json(place, *shown)["roles"]["all"]["missing_labels"] == 39
    monkeypatch.setattr(rubric_rates, "FEWEST_LABELS", 10)
    precision = core_json(place, *shown)["roles"]["all"]
    assert (precision["n"], precision["labels"], precision["corrected"]["estimate"]) == (
        11,
        11,
        pytest.approx(10 / 11),
    )


def claim(text: str) -> Claim:
    subject, *relation, object_ = text.split()
    return Claim(subject, " ".join(relation), object_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Stat1 activates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Stat1 represses Irf1", ("contradicted", "collectri", "Stat1 activates Irf1")),
        ("Stat1 regulates Irf1", ("supported", "collectri", "Stat1 activates Irf1")),
        ("Irf1 activates Stat1", ("not known", "", "")),  # the other way round
        (
            "Brd4 activates Il6",
            ("not known", "collectri", "Brd4 regulates, in no known direction, Il6"),
        ),
        (
            "Brd4 regulates Il6",
            ("supported", "collectri", "Brd4 regulates, in no known direction, Il6"),
        ),
        (
            "Tlr4 activates Il6",
            (
                "not known",
                "collectri",
                "the packs disagree (collectri: activates; omnipath: represses)",
            ),
        ),
        (
            "Myd88 activates Il6",
            ("supported", "omnipath", "Myd88 activates Il6"),
        ),  # listed without a direction in the other
        ("Myd88 binds Tlr4", ("supported", "string", "score 900")),
        ("Brd4 binds Tlr4", ("not known", "string", "score 150")),
        ("Irf1 binds Tlr4", ("not known", "", "")),
        ("Myd88 acts with Tlr4", ("supported", "reactome", "both in Cascade and 1 more")),
        ("Irf1 acts with Tlr4", ("not known", "", "")),  # no shared pathway contradicts nothing
        ("Myd88 regulates Tlr4", ("not known", "", "")),  # nor does one support a regulation
        ("Socs3 activates Il6", ("not known", "", "")),
    ],
)
def test_what_is_known_of_a_claim(said: str, verdict: tuple[str, str, str]) -> None:
    collectri = {("stat1", "irf1"): 1, ("brd4", "il6"): 0, ("tlr4", "il6"): 1, ("myd88", "il6"): 0}
    omnipath = {("tlr4", "il6"): -1, ("myd88", "il6"): 1}
    string = {frozenset(("tlr4", "myd88")): 900, frozenset(("tlr4", "brd4")): 150}
    reactome = {
        "tlr4": frozenset({"Cascade", "Immunity"}),
        "myd88": frozenset({"Cascade", "Immunity"}),
        "irf1": frozenset({"T"}),
    }
    known = Knowledge(
        {"collectri": collectri, "omnipath": omnipath}, {"string": string}, {"reactome": reactome}
    )
    assert tuple(known.check(claim(said))) == verdict


def test_pathways_of_many_genes_say_nothing() -> None:
    """Of 400 genes, 20 are a twentieth: the pathway of 21 does not count."""
    names = {
        f"G{i}": (("wide",) if i < 21 else ()) + (("narrow",) if i < 20 else ()) for i in range(400)
    }
    found = narrow_pathways(names)
    assert (found["g0"], found["g20"]) == (frozenset({"narrow"}), frozenset())
    small = narrow_pathways({f"G{i}": ("all",) for i in range(15)})  # so few are never too many
    assert small["g0"] == frozenset({"all"})
