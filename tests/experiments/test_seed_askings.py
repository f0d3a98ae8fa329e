"""How sure a judge is: variances by hand, and askings found in runs that differ in their seeds alone and inside of one debate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.actions import ask, launch, run_control
from core.actions.ask import Question
from core.actions.imports import ImportOptions, import_upload
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.request import RunRequest
from core.errors import InputError, StateError
from core.experiments.seed_askings import JudgeNoise, report_seeds, seeds_of
from core.experiments.seed_noise import answer_variance, describe_seeds, take_ids
from core.experiments.seed_words import askings_json, askings_lines
from core.scoring.arm_loader import ArmLoader
from core.scoring.run_scores import RunRows
from core.store import predictions, runs, traces
from core.types import Flag
from tests import worlds
from tests.commands import core, core_json
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by

ROWS = 24


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A debate under three seeds, two runs of one seed each that are askings of the same, one under a seed of the first, one that
    asks something else, and two that were imported and do not say what they asked."""
    workspace = open_workspace(Settings(workspace=tmp_path_factory.mktemp("seeds"), author="tester"))
    screen = worlds.furnish(workspace)
    again = worlds.llm(screen.ids[: screen.n_train], seed=2)
    assert import_upload(workspace, again, "c.csv", ImportOptions(name="llm again")).kind != "failed"
    with workspace.store.write() as db:
        db.execute("UPDATE run SET spec = '{}' WHERE name LIKE 'llm %'")
    every, fewer = f"split=train;sample={ROWS}", f"split=train;sample={ROWS // 2}"
    made = {
        "three": (every, {"seeds": "1,2,3"}, 0),
        "one": (every, {}, 7),
        "some": (fewer, {}, 8),
        "twice": (every, {"seeds": "2"}, 0),
        "other": (every, {"judge": "numeric"}, 0),
    }
    with scripted_server.serving(Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=8))) as url:
        for name, (rows, options, seed) in made.items():
            given = {"rounds": 0, "tools": ",".join(TOOLS), **options}
            request = RunRequest("debate", options=given, rows=rows, name=name, model="scripted", endpoint=url, seed=seed)
            assert launch.start(workspace, request).status == "done"
    return workspace


def report(workspace: Workspace, *names: str) -> JudgeNoise:
    with workspace.store.read() as db:
        return report_seeds(db, names)


def within_rows(found: JudgeNoise) -> float:
    """Return the variance of P(DE) when asked again."""
    variance = found.seeds.answers["P(DE)"]
    assert variance is not None
    return variance.within_rows.value


def test_the_parts_of_the_variance_by_hand() -> None:
    """Two askings of two rows: .2 and .4, .6 and .8. Within: (.02 + .02) / 2 = .02. Means .3 and .7 vary by .08, of which
    .02 / 2 is left by asking: .07."""
    asks, apart = [np.array([0.2, 0.6]), np.array([0.4, 0.8])], np.arange(2)
    alone = answer_variance(asks, apart, apart)
    assert alone is not None
    assert (alone.within_rows.value, alone.between_rows.value) == (pytest.approx(0.02), pytest.approx(0.07))
    assert answer_variance(asks[:1], apart, apart) is None


def test_the_interval_of_a_variance_is_that_of_a_mean_over_rows() -> None:
    """Independent rows, two askings each: the variance within a row is half the squared difference."""
    rng = np.random.default_rng(5)
    first, second, apart = rng.random(300), rng.random(300), np.arange(300)
    found = answer_variance([first, second], apart, apart)
    assert found is not None
    terms = (first - second) ** 2 / 2
    assert found.within_rows.value == pytest.approx(terms.mean())
    assert found.within_rows.row.se == pytest.approx(terms.std(ddof=1) / np.sqrt(300), rel=1e-6)
    assert found.within_rows.shown.low < 1 / 12 < found.within_rows.shown.high  # of uniform answers


@pytest.mark.soak
def test_every_seed_of_a_debate_is_an_asking(asked: Workspace) -> None:
    found = report(asked, "three")
    assert found.askings == ("three", "three", "three", "one")
    assert (found.seeds.rows, found.seeds.asks, found.left_out) == (ROWS, 4, 0)
    with asked.store.read() as db:
        run = runs.find(db, "three")
        rows, verdicts = predictions.frame(db, run.id), traces.verdicts_by_seed(db, run.id)
    assert seeds_of(run) == (1, 2, 3)
    assert len(verdicts) == 2 * 3 * ROWS
    means = verdicts[verdicts["stage"] == "de"].groupby("pair_id")["p"].mean()
    assert means[rows["pair_id"]].to_numpy() == pytest.approx(rows["p_de"].to_numpy())
    # uniform noise of up to 8 points either way has the variance 0.16² / 12
    assert within_rows(found) == pytest.approx(0.16**2 / 12, rel=0.5)
    one = report(asked, "one")
    assert one.askings == ("one", "three", "three", "three")
    assert within_rows(one) == pytest.approx(within_rows(found))


@pytest.mark.soak
def test_runs_that_are_named_are_compared_on_the_rows_that_all_have(asked: Workspace) -> None:
    found = report(asked, "three", "some")
    with asked.store.read() as db:
        shared = set.intersection(*(predictions.all_ids(db, runs.find(db, name).id) for name in ("three", "some")))
    assert 1 < len(shared) < ROWS // 2
    assert (found.seeds.rows, found.askings) == (len(shared), ("three", "three", "three", "some"))


@pytest.mark.soak
def test_what_is_no_asking_of_the_same_is_refused(asked: Workspace) -> None:
    with pytest.raises(InputError, match="runs three and other: differ in more than their seeds"):
        report(asked, "three", "other")
    with pytest.raises(StateError, match="run other: was asked only once"):
        report(asked, "other")
    with pytest.raises(StateError, match=r"llm train .* its questions are unknown.*Name the runs that ask the same"):
        report(asked, "llm train")


@pytest.mark.soak
def test_what_is_asked_twice_under_a_seed_is_one_asking(asked: Workspace) -> None:
    assert report(asked, "twice").askings == ("twice", "three", "three", "one")
    assert report(asked, "three", "twice").askings == ("three", "three", "three")
    with asked.store.read() as db:
        one = runs.find(db, "one").id
    with pytest.raises(StateError, match="was asked only once"):
        report(asked, "one", one)


@pytest.mark.soak
def test_a_person_says_that_imported_runs_ask_the_same(asked: Workspace) -> None:
    found = report(asked, "llm train", "llm again")
    assert found.askings == ("llm train", "llm again")


@pytest.mark.soak
def test_an_answer_that_could_not_be_read_is_none(asked: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base rate stands in its place, which is far from what the judge says."""
    rows_of = ArmLoader.rows_of

    def rows_unread(loader: ArmLoader, run: str) -> RunRows:
        rows = rows_of(loader, run)
        if rows.run.name != "one":
            return rows
        flags = [[Flag.DE_FALLBACK], [Flag.DIR_FALLBACK], *rows.frame["flags"][2:]]
        stands_in = rows.frame["p_de"].to_numpy(copy=True)
        stands_in[0] = 0.0
        return replace(rows, frame=rows.frame.assign(flags=flags, p_de=stands_in))

    before = within_rows(report(asked, "three"))
    monkeypatch.setattr(ArmLoader, "rows_of", rows_unread)
    found = report(asked, "three")
    assert (found.left_out, found.seeds.rows) == (2, ROWS - 2)
    with asked.store.read() as db:
        loader = ArmLoader(db, "bmdm")
        asks = [loader.rows_of(runs.find(db, name).id) for name in ("one", "three")]
    noise = describe_seeds([take_ids(rows, asks[0].frame["pair_id"].tolist()) for rows in asks])
    assert noise.answers["P(DE)"] is not None
    assert noise.answers["P(DE)"].within_rows.value < 2 * before


@pytest.mark.soak
def test_a_pair_that_the_dataset_does_not_have(asked: Workspace) -> None:
    with scripted_server.serving(Script(answer=answer_moved_by(MOVES, effect=15, noise=8))) as url:
        options = {"rounds": 0, "tools": MOVES, "seeds": "1,2"}
        question = Question("Nobody1", "Nothing2", endpoint=url, model="scripted", options=options)
        run = ask.ask(asked, question, begin=run_control.work_on).run
    found = report(asked, run.id)
    assert (found.seeds.rows, found.seeds.asks) == (1, 2)
    assert askings_lines(found)


@pytest.mark.soak
def test_the_command_prints_the_same(asked: Workspace) -> None:
    printed = core_json(asked.settings.workspace, "seeds", "three")
    found = askings_json(report(asked, "three"))
    assert printed["askings"] == found["askings"]
    assert printed["answers"]["P(DE)"]["within_rows"] == found["answers"]["P(DE)"]["within_rows"]
    lines = core(asked.settings.workspace, "seeds", "three").out.splitlines()
    assert lines == askings_lines(report(asked, "three"))
    assert lines[0].startswith(f"{ROWS} rows of three, asked 4 times under other seeds, in 2 runs.")
