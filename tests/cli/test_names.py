"""Names of what a workspace holds: commands complete them in the shell, and name those like one that is not there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.base.config import Settings
from core.base.hashes import sha256_of
from core.cli import names
from core.cli.base import app
from core.features.arguments import readings
from core.features.arguments.rubric import Rubric
from core.features.experiments import ledger_table
from core.features.experiments.ledger_table import HERE, Entry
from core.features.sharing import walks
from core.features.sharing.report import selection as reports
from core.features.sharing.walks import Stop
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import TrainingRequest
from core.runs.spec import RunSpec
from core.runs.workspace import Workspace, open_workspace
from core.store import datasets, imports, runs, spaces
from core.store.runs import Run
from core.store.spaces import SpaceRecord
from tests.commands import core, every_command
from tests.runs.cases import fast

THINGS = "run|dataset|space|job|report|walk-through|rubric|hypothesis|target ranking|pack"
SPEAKS_OF_ONE = re.compile(rf"\b({THINGS})s?\b", re.IGNORECASE)
# Texts whose help speaks of such a thing without naming one that there is.
NO_NAMES = {
    "--name": "of a new one, where it is not completed",
    "--row": "of a row",
    "row": "of a row",
    "--rows": "of rows",
    "gene": "of a gene",
    "--answer": "of a text",
    "--texts": "a kind of texts",
    "--endpoint": "an address",
    "--set": "a setting",
    "--metric": "of a number",
}


@pytest.mark.soak
def test_every_parameter_that_names_something_here_is_completed() -> None:
    missing = [
        f"{command} {each.opts[0]}: {each.help}"
        for command, found in every_command().items()
        for each in found.params
        if each.type_descriptor.annotation in (str, list[str])
        and not str(each.metavar).startswith(("<int>", "<float>"))
        and SPEAKS_OF_ONE.search(f"{each.help} {each.metavar}")
        and not {*each.opts} & {*NO_NAMES}
        and each._custom_shell_complete is None
    ]
    assert missing == []


RUN_NAMES = (
    *("kNN", "fused", "recovered", "asked", "argued", "killed"),
    *("asked, with a comma", "commits-itself of argued by scripted"),
)


def run_named(name: str) -> Run:
    counts = dict.fromkeys(
        ("total", "done", "failed", "fallbacks", "collapsed", "tokens_unknown"), 0
    )
    return Run(
        **{
            "id": sha256_of(name)[:10],
            "name": name,
            "method": "evidence_rules",
            "origin": "imported",
            "dataset": "d1",
            "spec": {},
        },
        **{
            "track": None,
            "model": None,
            "parents": (),
            "status": "done",
            "tokens": None,
            "code_version": "0",
        },
        **counts,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with one of each kind that has a name, and nothing else."""
    made = open_workspace(
        Settings(workspace=tmp_path_factory.mktemp("everything"), author="tester")
    )
    with made.store.write() as db:
        datasets.add(db, datasets.Dataset("d1", "simulated", "mouse", "", "simulated"))
        for name in RUN_NAMES:
            runs.add(db, run_named(name))
        db.execute("INSERT INTO pair VALUES ('d1', 'Pa_Ga', 'Pa', 'Ga', 'up', 'test', 0, 'i1')")
        db.execute(
            """INSERT INTO prediction BY NAME
               SELECT id AS run, 'Pa_Ga' AS pair_id, 0.1 AS prediction_up, 0.1 AS prediction_down, [] AS flags FROM run"""
        )
        for name in ("simulated", "text", "network"):
            spaces.add(
                db,
                SpaceRecord(name, name, "text", {}, "a file", name, 1, 1, (), None, None, "tester"),
            )
        imports.add(
            db,
            imports.Import(
                "i1", "s1", "descriptions.json", "descriptions", None, None, 1, 0, "tester"
            ),
            (),
        )
        for name in ("kNN helps", "kNN in two cuts"):
            entry = Entry(
                kind="registration",
                name=name,
                hypothesis=name,
                source=HERE,
                dataset="simulated",
                metric="mean",
            )
            ledger_table.add(db, entry)
    for name in ("killed", "fused"):
        made.run_folder(sha256_of(name)[:10]).create(
            RunSpec("evidence_rules", 1, {}, "d1", "ab", ("Pa_Ga",)), fast()
        )
    walks.add_stop(
        made, Stop(dataset="d1", walk="first walk", title="A row", address="./rows?run=x")
    )
    reports.save_report(made, "paper", {})
    readings.add_rubric(made, Rubric(name="names-a-pathway", question="Does it name a pathway?"))
    readings.add_rubric(made, Rubric(name="commits-itself", question="Does it commit itself?"))
    target_ranking.create(made, TrainingRequest("screen", models={"pca_knn": {}}))
    return made


@pytest.fixture
def everything(made: Workspace, tmp_path: Path) -> Workspace:
    """A copy of a workspace with everything that has a name."""
    shutil.copytree(made.settings.workspace, tmp_path / "copy")
    return open_workspace(Settings(workspace=tmp_path / "copy", author="tester"))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("score recov", ["recovered"]),
        ("score knn", []),  # names are as they are written
        ("compare kNN fused,recov", ["fused,recovered"]),
        (
            "compare kNN fused,asked",
            ["fused,asked"],
        ),  # no name with a comma, which a list cannot hold
        ("rubric rate short argued --reading commits", ["commits-itself of argued by scripted"]),
        ("report new paper --runs fused,recov", ["fused,recovered"]),
        ("fuse --base recov", ["recovered"]),
        ("fuse --with kNN,recov", ["kNN,recovered"]),
        ("fuse --reference-run kNN=recov", ["kNN=recovered"]),
        ("search kinase --dataset sim", ["simulated"]),
        ("knn --space simulated,te", ["simulated,text"]),
        ("embed delete te", ["text"]),
        ("jobs log kil", ["killed"]),
        ("jobs resume run/kil", ["run/killed"]),
        ("report build pa", ["paper"]),
        ("report walk export fir", ["first walk"]),
        ("ledger result kNN", ["kNN helps", "kNN in two cuts"]),
        ("rubric run names", ["names-a-pathway"]),
        ("rubric worth short,names", ["short,names-a-pathway"]),
        ("targets table --name scr", ["screen"]),
        ("undo desc", ["descriptions.json"]),
        ("run evid", ["evidence_rules"]),
        ("experiment run few", ["few_neighbours"]),
        ("run fusion --backend r", ["ray"]),
        ("run fusion --labels a", ["auto", "all"]),
        ("run fusion --leave-out temperature,top", ["temperature,top_p"]),
        ("knn --protocol l", ["loo"]),
        ("ledger add x --metric me", ["mean"]),
    ],
)
def test_the_shell_completes_names(
    made: Workspace, monkeypatch: pytest.MonkeyPatch, line: str, offered: list[str]
) -> None:
    words = ["perturbdesk", "--workspace", str(made.settings.workspace), *line.split()]
    for name, value in {
        "_PERTURBDESK_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),  # as bash gives them
        "COMP_CWORD": len(words) - 1,
    }.items():
        monkeypatch.setenv(name, str(value))
    output = CliRunner().invoke(app, [], prog_name="perturbdesk").output
    found = [each for each in output.split("\n") if each]
    assert [shlex.split(each) for each in found] == [
        [each] for each in offered
    ]  # each a word of the command line


@pytest.mark.parametrize(
    ("typed", "shell", "offered"),
    [("kill", "bash", r"kil\ led"), ('"kil', "bash", "kil led"), ("kil", "zsh", "kil led")],
)
def test_only_a_word_that_bash_completes_without_a_quote_is_escaped(
    monkeypatch: pytest.MonkeyPatch, typed: str, shell: str, offered: str
) -> None:
    for name, value in {
        "_P_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": f"p\nshow\n{typed}",
        "COMP_CWORD": "2",
    }.items():
        monkeypatch.setenv(name, value)
    assert names._as_words(["kil led"]) == [offered]


FUSION = ("--with", "kNN", "--w-de", "0.5", "--w-dir", "0.5", "--name", "new")


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "command",
    [
        ("score", "fusd"),
        ("compare", "kNN", "asked,fusd"),
        ("audit", "debate", "fusd"),
        ("rubric", "rate", "short", "argued", "--reading", "fusd"),
        ("export", "fusd"),
        ("report", "new", "paper 2", "--runs", "kNN,fusd"),
        ("fuse", "--base", "fusd", *FUSION),
        ("run", "fusion", "--set", "base=fusd", "--set", "with=kNN"),
        ("jobs", "log", "fusd"),
    ],
)
def test_a_run_that_is_not_there_is_answered_with_runs_like_it(
    everything: Workspace, command: tuple[str, ...]
) -> None:
    done = core(everything.settings.workspace, *command)
    assert done.status == 1
    assert re.search("did you mean .*fused", done.err)
