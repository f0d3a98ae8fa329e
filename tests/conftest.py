"""Fixtures that every room's tests share."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import shutil
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from core.features.demo.actions import make_demo
from core.features.importing.actions import import_paths
from core.runs.workspace import Workspace, open_workspace
from tests import strength, worlds
from tests.features.perturbqa import cases as lines
from tests.little_demo import make_little_demo

strength.register()
gc.disable()  # until all is collected: nothing of it goes before

MEMORY_DISK, ENOUGH_BYTES = Path("/dev/shm"), 12 << 30  # of which the suite fills less than half
SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PUBLISHED = {
    "challenge": """
        sample_submission.csv sample_submission_track_a.csv sample_submission_track_b.csv sample_submission_track_c.csv test.csv
        train.csv""",
    "entries_more": """
        example_prompts.csv prompt_template.txt track_b_adversarial_blend.zip track_b_adversarial_ens3.zip
        track_b_cross_fusion.zip track_b_scgpt_fusion_gf316.zip track_b_scgpt_fusion_sa.zip track_b_state_fusion.zip""",
    "knowledge": """
        collectri_mouse_signed.json gene_desc.json gene_reactome.json hagai_lps_prior.json mouse_to_human_ortholog.json
        string_edges.json symbol_to_ensp.json""",
    "norman": """
        split_compositional_seed42.json split_hard_seed42.json""",
    "perturbagent": """
        grn_features_train.csv track_a_logprobs_train2499.zip track_b_knn_fusion.zip track_b_react.zip track_b_scgpt_fusion.zip
        track_b_scgpt_fusion_wdir07.zip track_b_sharp.zip track_c_qwen3_4b.zip wdir_tune_sample_labeled.csv""",
    "perturbqa": """
        hepg2-de.csv hepg2-dir.csv k562-de.csv k562-dir.csv k562_gene-gse.json k562_pert-gse.json k562_set-de.csv
        k562_set-dir.csv k562_set-mapping.json""",
}


class MarkVariants:
    """Marks soak what `few` leaves out, before what is marked so is deselected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        variants = defaultdict(list)
        for item in items:
            if item.get_closest_marker("few"):
                variants[item.nodeid.partition("[")[0]].append(item)
        for each in variants.values():
            number = min(each[0].get_closest_marker("few").args[0], len(each))
            kept = {
                len(each) * (2 * index + 1) // (2 * number) for index in range(number)
            }  # spread evenly over them
            for place, item in enumerate(sorted(each, key=lambda item: item.nodeid)):
                if place not in kept:
                    item.add_marker(pytest.mark.soak)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(MarkVariants())
    # Else the threads of each worker, and of each process it starts, wait for those of the others.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    _work_in_memory(config)


def _work_in_memory(config: pytest.Config) -> None:
    """Have temporary folders in memory where there is room, until the run ends: stores wait for a disk at each change."""
    if "PYTEST_DEBUG_TEMPROOT" in os.environ or not MEMORY_DISK.is_dir():
        return
    for left in MEMORY_DISK.glob("desk-tests-*"):  # of a run that was killed
        if not psutil.pid_exists(int(left.name.rpartition("-")[2])):
            shutil.rmtree(left, ignore_errors=True)
    if shutil.disk_usage(MEMORY_DISK).free > ENOUGH_BYTES:
        folder = MEMORY_DISK / f"desk-tests-{os.getpid()}"
        folder.mkdir(mode=0o700)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: in each, tests wait a sixth of the time for servers, processes and browsers."""
    return (psutil.cpu_count() or 1) + 1


def pytest_sessionstart() -> None:
    """By now hypothesis knows its profile."""
    strength.skip_constants()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Import all files of tests, each process from another one on: in a fresh clone each process then compiles a part of them."""
    if session.config.option.file_or_dir or not hasattr(session.config, "workerinput"):
        return
    which, processes = (
        session.config.workerinput["workerid"],
        session.config.workerinput["workercount"],
    )
    tests = Path(__file__).parent
    files = sorted(path for path in tests.rglob("test_*.py") if tests / "serve" not in path.parents)
    first = len(files) * int(which.removeprefix("gw")) // processes
    for path in [*files[first:], *files[:first]]:
        with suppress(
            Exception, pytest.skip.Exception
        ):  # what is wrong is said when it is collected
            importlib.import_module(".".join(path.relative_to(tests.parent).with_suffix("").parts))


def _begins_with(item: pytest.Item) -> int:
    """The place of what a test starts first, if that is costly: a browser, the shared server, the compiler of the rank sums."""
    if item.get_closest_marker("browser"):
        return 0
    if {"shared_workspace", "demo_server"} & {*getattr(item, "fixturenames", ())}:
        return 1
    return 2 if "cell" in str(item.path.relative_to(item.config.rootpath)) else 3


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files that begin with the same beside each other, so that one process starts it; the longest, of browsers, first."""
    place = {item.path: 3 for item in items}
    for item in items:
        place[item.path] = min(place[item.path], _begins_with(item))
    items.sort(key=lambda item: place[item.path])


def pytest_collection_finish() -> None:
    """What is imported by now stays: no collection looks at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    # pytest hangs its handlers on every logger that does not propagate, three times a test; Streamlit has seventy of them.
    for logger in logging.Logger.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.propagate = True


def pytest_sessionfinish() -> None:
    """What tests leave is not looked through as a process ends, which pytest does five times."""
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of links to the published files that tests know, whatever lies beside them; skips where there are none."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"needs the published files in {SHARED_DATA}")
    folder = tmp_path_factory.mktemp("published")
    for place, names in PUBLISHED.items():
        (folder / place).mkdir()
        for name in names.split():
            (folder / place / name).symlink_to(SHARED_DATA / place / name)
    return folder


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store: copying it takes a tenth of the time of making one."""
    made = worlds.workspace_in(tmp_path_factory.mktemp("empty"))
    with made.store.read():
        return made.settings.store_file


@pytest.fixture
def workspace(tmp_path: Path, empty_store: Path) -> Workspace:
    """An empty workspace of its own."""
    made = worlds.workspace_in(tmp_path / "workspace")
    made.settings.store_file.parent.mkdir(parents=True)
    shutil.copyfile(empty_store, made.settings.store_file)
    return made


@pytest.fixture(scope="session")
def small_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `small_workspace` is a copy of."""
    return worlds.template(tmp_path_factory.mktemp("small"), worlds.import_small)


@pytest.fixture
def small_workspace(small_template: Path, workspace: Workspace) -> Workspace:
    """A workspace with six rows, four of them labelled, and a debate over four of them, called "debate"."""
    return worlds.copied(small_template, workspace)


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `screen` is a copy of: the small screen with its space "near" and the runs "llm train" and "llm test"."""
    return worlds.template(tmp_path_factory.mktemp("furnished"), worlds.furnish)


@pytest.fixture
def screen(furnished: Path, workspace: Workspace) -> Workspace:
    """That, to change."""
    return worlds.copied(furnished, workspace)


def make_once(
    factory: pytest.TempPathFactory, name: str, fill: Callable[[Workspace], object]
) -> Workspace:
    """A workspace that one of the test processes fills, and of which each has a copy."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / f"made-{name}"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            begun = folder.with_name(f"{folder.name}-begun")
            with ThreadPoolExecutor(1) as thread:  # a browser's event loop may run in this one
                thread.submit(fill, worlds.workspace_in(begun)).result()
            begun.rename(folder)
    copy = factory.mktemp(name) / "workspace"
    shutil.copytree(folder, copy)
    return worlds.workspace_in(copy)


@pytest.fixture(scope="session")
def demo_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The simulated workspace, shared: tests only read it."""
    return make_once(tmp_path_factory, "demo", make_demo)


@pytest.fixture
def demo_copy(demo_workspace: Workspace, tmp_path: Path) -> Workspace:
    """The simulated workspace to change, without the logs and the nulls that other tests left in the shared one."""
    left_out = shutil.ignore_patterns("desk.log*", "permuted", "comparisons")
    shutil.copytree(demo_workspace.settings.workspace, tmp_path / "demo", ignore=left_out)
    return open_workspace(replace(demo_workspace.settings, workspace=tmp_path / "demo"))


@pytest.fixture(scope="session")
def little_demo(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The simulated workspace at a sixth of its size, shared: tests only read it."""
    return make_once(tmp_path_factory, "little", make_little_demo)


@pytest.fixture
def little_copy(little_demo: Workspace, workspace: Workspace) -> Workspace:
    """A copy of it to change."""
    return worlds.copied(little_demo.settings.workspace, workspace)


@pytest.fixture(scope="session")
def cell_lines(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two small cell lines of PerturbQA, k562 and hepg2, and knowledge packs of their genes, shared: tests only read it."""
    return make_once(tmp_path_factory, "lines", lines.fill)


@pytest.fixture(scope="session")
def real_workspace(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The challenge and every published submission, imported; shared: tests only read it."""
    files = [shared_data / "challenge", shared_data / "perturbagent"]
    return make_once(tmp_path_factory, "real", lambda workspace: import_paths(workspace, files))
