"""The command clusters, in this process."""

from __future__ import annotations

from core.actions.workspace import Workspace
from tests.commands import core, core_json
from tests.little_demo import DEBATED_ROWS

RUN = "simulated debate"


def test_clusters_prints_kinds_and_whether_they_hold(little_demo: Workspace) -> None:
    place = little_demo.settings.workspace
    arguments = ("clusters", RUN, "--role", "UP", "--k", "4", "--seed", "3")
    found = core_json(place, *arguments)
    assert (found["texts"], found["role"], found["n"], found["embedding"], found["seed"]) == (
        "brief",
        "UP",
        DEBATED_ROWS,
        "tfidf",
        3,
    )
    assert len(found["clusters"]) == 4
    for cluster in found["clusters"]:
        assert cluster["words"]
        assert {"estimate", "low", "high"} <= cluster["hit_rate"].keys()
        assert len({example["pair_id"] for example in cluster["examples"]}) == 5
        assert {example["role"] for example in cluster["examples"]} == {"UP"}
    assert sum(cluster["n"] for cluster in found["clusters"]) == DEBATED_ROWS
    assert -1 <= found["stability"] <= 1
    assert [each["repeats"] for each in found["agreements"]] == [5, 5]
    lines = core(place, *arguments).out.splitlines()
    assert lines[0] == found["sentences"][0]
    assert sum(" hits " in line for line in lines) == 4


def test_clusters_says_what_is_wrong(little_demo: Workspace) -> None:
    place = little_demo.settings.workspace
    for arguments, message in (
        (("--k", "3", "--method", "hdbscan"), "finds the number itself"),
        (("--texts", "answer"), "no texts of the kind answer"),
        (("--embedding", "word2vec"), "expected tfidf, minilm, endpoint"),
        (("--embedding", "endpoint"), "expected both with endpoint"),
    ):
        done = core(place, "clusters", RUN, *arguments)
        assert (done.status, done.out) == (1, "")
        assert message in done.err
