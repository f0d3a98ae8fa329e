"""Every action that changes something refuses in a workspace that is read-only, and to a reader. The modules are searched for
such actions, so that a new one cannot be forgotten here."""

from __future__ import annotations

import ast
import asyncio
import io
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from core.actions import (
    ablations,
    ask,
    ask_again,
    attribution,
    backups,
    benchmark_baselines,
    benchmark_ledger,
    benchmark_plans,
    benchmarks,
    bundles,
    cell_predictions,
    cells,
    changed_settings,
    claim_knowledge,
    claims,
    clash,
    comparison_log,
    component_loader,
    contamination,
    demo,
    derived_runs,
    expectations,
    export,
    finetunes,
    fusion_files,
    gene_sets,
    imports,
    job_control,
    jobs,
    knn_numbers,
    label_files,
    labels,
    launch,
    ledger,
    lineage,
    model_servers,
    pack_texts,
    packs,
    page_imports,
    prompt_files,
    readings,
    report_finders,
    report_pdfs,
    reports,
    reproduction,
    rubrics,
    run_control,
    runs,
    same_runs,
    site,
    spaces,
    streamed_knn,
    studies,
    submissions,
    target_ranking,
    undo,
    uploads_apart,
    walks,
)
from core.actions.ask_again import AgainPlan
from core.actions.attribution import AttributionPlan, AttributionRequest, SavedAttribution
from core.actions.benchmark_baselines import BaselineRequest
from core.actions.cell_predictions import PredictionOptions
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.job_kinds.base import Job
from core.actions.label_request import LabelRequest
from core.actions.readings import ReadingPlan
from core.actions.studies import Arm
from core.actions.submissions import PackageOptions
from core.actions.workspace import Person, Workspace, open_workspace
from core.audit.rubric import Rubric
from core.cells.screen import LabelSettings
from core.config import REPOSITORY, Settings
from core.datasets.prompt_files import PromptFile
from core.embeddings import make_space
from core.engine.request import Expectation, RunRequest
from core.engine.run_state import Counts, Heartbeat, write_heartbeat
from core.errors import DeskError, ReadOnly
from core.experiments.ablations.base import ablations as ablations_known
from core.experiments.attribution_arms import AttributionSpec
from core.experiments.benchmark_report import BenchmarkReport
from core.experiments.benchmark_spec import parse_benchmark
from core.experiments.contamination import ContaminationSpec, SavedContamination
from core.importing.files import BundleFile, FoundFile, recognise_upload
from core.importing.import_target import ImportOptions
from core.jobs.folder import JobFolder
from core.jobs.work import Reporter
from core.llm.call_settings import CallSettings
from core.methods.base import method_named
from core.methods.fusion_components import DatasetPriors
from core.scoring.run_scores import RunRows, load_scored_rows
from core.store import Cursor
from core.store import runs as stored_runs
from core.store.hypotheses import Entry
from core.store.rubrics import TextLabel
from core.store.runs import Run
from core.store.spaces import PackRecord, SpaceRecord
from core.store.walks import Stop
from core.target_ranking.evaluate import EvaluationRequest
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex
from tests import cases, worlds
from tests.engine.cases import fast
from tests.engine.killed import killed_run
from tests.target_ranking import cases as targets
from tests.ui.change_watch import API_KEY, ModelServer, counting

BENCHMARK = (REPOSITORY / "docs" / "examples" / "llm_against_llm_knn.toml").read_text("utf-8")
RUBRIC, LABEL = Rubric("q", "Is it?"), TextLabel("Pa_Ga", 0, "EFFECT", "yes", "Ada")
_ATTRIBUTED = AttributionSpec("r", "r", "bmdm", ("a",), ("gene_class",), 1)
ATTRIBUTION = AttributionPlan((), Expectation(0), AttributionRequest("r"), _ATTRIBUTED)
CONTAMINATION = contamination.ContaminationPlan(
    (),
    Expectation(0),
    contamination.ContaminationRequest("r"),
    ContaminationSpec("r", "r", "d", ("Pa_Ga",), ("coded",)),
)
AGAIN = AgainPlan((), Expectation(0), SimpleNamespace(name="r"), "a", ())  # type: ignore[arg-type]
JOB = Job("benchmark", "b", "b", JobFolder(Path("nowhere")), "crashed", can_resume=True)
READING = ReadingPlan(RUBRIC, RunRequest("judge_rubric", name="n"), None)  # type: ignore[arg-type]
PACK = PackRecord("p", "descriptions", "0", 0, "here", "p.json")
SPACE = SpaceRecord("s", "s", "loaded", {}, "here", "0", 0, 0, (), None, None, "tester")
FOLDS = EvaluationProtocol("folds", 2)
ACTIONS = REPOSITORY / "core" / "actions"


def actions() -> set[str]:
    """Every public function that is given a workspace, as "module.function"."""
    return {
        f"{file.stem}.{node.name}"
        for file in ACTIONS.glob("*.py")
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
        if any(re.search(r"\bWorkspace\b", ast.unparse(each)) for each in annotations_of(node))
    }


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    given = node.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg):
        if each is not None and each.annotation is not None:
            yield each.annotation


@dataclass(frozen=True)
class Stage:
    """What the actions are called with. crashed: a workspace with a run "r" of which the store does not know that it is dead;
    plain: one with two splits and no run; bundle: a run of those; elsewhere: a folder that any reader may write to; model: the
    address of the model server of both; priors: a kNN of another workspace."""

    crashed: Workspace
    plain: Workspace
    bundle: BundleFile
    files: Path
    elsewhere: Path
    model: str
    priors: DatasetPriors


# Each gets a stage whose workspaces are closed, and a crashed run where its arguments need one.
CALLS: Mapping[str, Callable[[Stage], object]] = {
    "ask_again.ask_again": lambda s: ask_again.ask_again(s.plain, AGAIN),
    "ask_again.start_apart": lambda s: ask_again.start_apart(s.plain, AGAIN),
    "ask.ask": lambda s: ask.ask(s.plain, ask.Question("Pa", "Ga")),
    "ask.resume": lambda s: ask.resume(s.crashed, "r"),
    "ask.watch": lambda s: ask.watch(s.crashed, run_of(s).id),
    "attribution.run_attribution": lambda s: attribution.run_attribution(s.plain, ATTRIBUTION),
    "contamination.run_contamination": lambda s: contamination.run_contamination(s.plain, CONTAMINATION),
    "contamination.start_apart": lambda s: contamination.start_apart(s.plain, CONTAMINATION),
    "contamination.resume": lambda s: contamination.resume(s.plain, SavedContamination(CONTAMINATION.spec, {})),
    "attribution.save_attribution": lambda s: attribution.save_attribution(s.plain, ATTRIBUTION),
    "attribution.start_apart": lambda s: attribution.start_apart(s.plain, ATTRIBUTION),
    "backups.restore": lambda s: backups.restore(s.plain, s.files / "b.zip"),
    "benchmark_ledger.record_result": lambda s: benchmark_ledger.record_result(
        s.plain, parse_benchmark(BENCHMARK), "bmdm", (), {}
    ),
    "benchmark_ledger.register_hypothesis": lambda s: benchmark_ledger.register_hypothesis(
        s.plain, parse_benchmark(BENCHMARK), "bmdm", {}
    ),
    "benchmarks.record_result": lambda s: benchmarks.record_result(
        s.plain, benchmarks.SavedBenchmark(parse_benchmark(BENCHMARK), "bmdm", (), {})
    ),
    "benchmarks.run_benchmark": lambda s: benchmarks.run_benchmark(s.plain, parse_benchmark(BENCHMARK)),
    "benchmarks.save_benchmark": lambda s: benchmarks.save_benchmark(s.plain, parse_benchmark(BENCHMARK)),
    "benchmarks.start_apart": lambda s: benchmarks.start_apart(s.plain, parse_benchmark(BENCHMARK)),
    "bundles.build_bundle": lambda s: bundles.build_bundle(s.crashed, "r"),
    "bundles.import_bundle": lambda s: bundles.import_bundle(s.plain, s.bundle, "b.zip", ImportOptions()),
    "bundles.settle_run": lambda s: bundles.settle_run(s.crashed, "r"),
    "bundles.write_bundle_file": lambda s: bundles.write_bundle_file(s.crashed, "r", s.files / "out.zip"),
    "cells.start_labels": lambda s: cells.start_labels(s.plain, "screen.h5ad", LabelRequest("s", LabelSettings()), None),
    "cells.label_cells": lambda s: cells.label_cells(s.plain, s.files / "screen.h5ad", LabelRequest("s"), print),
    "cell_predictions.import_predictions": lambda s: cell_predictions.import_predictions(
        s.plain, s.files / "p.csv", PredictionOptions()
    ),
    "cell_predictions.describe_uploaded": lambda s: cell_predictions.describe_uploaded(
        s.plain, ("t.csv", b"pert,gene,log2_fc\nA,B,-1\n"), None, PredictionOptions()
    ),
    "cell_predictions.import_uploaded": lambda s: cell_predictions.import_uploaded(
        s.plain, ("p.csv", b"pert,gene,z\n"), None, PredictionOptions()
    ),
    "demo.make_demo": lambda s: demo.make_demo(s.plain),
    "expectations.expect": lambda s: expectations.expect(s.crashed, "r", "Pa_Ga", "up"),
    "export.export": lambda s: export.export(s.crashed, "r", "eval"),
    "attribution.resume": lambda s: attribution.resume(s.plain, SavedAttribution(ATTRIBUTION.spec, {})),
    "job_control.resume": lambda s: job_control.resume(s.plain, JOB),
    "job_control.start": lambda s: job_control.start(s.plain, "benchmark", "b", {}),
    "report_pdfs.start": lambda s: report_pdfs.start(s.plain, "r", "d", {"report": b"", "slides": b""}),
    "report_pdfs.print_pdfs": lambda s: report_pdfs.print_pdfs(s.plain, "r", "c", Reporter(JobFolder(s.files / "none"))),
    "job_control.stop": lambda s: job_control.stop(s.plain, JOB),
    "job_control.work": lambda s: job_control.work(s.plain, "benchmark", "b"),
    "jobs.resume": lambda s: jobs.resume(s.plain, jobs.folder_of(s.plain, "cells", "none")),
    "finetunes.resume": lambda s: finetunes.resume(s.plain),
    "finetunes.start": lambda s: finetunes.start(s.plain, finetunes.FinetuneRequest()),
    "finetunes.stop": lambda s: finetunes.stop(s.plain, "0"),
    "gene_sets.summarise_gene_sets": lambda s: gene_sets.summarise_gene_sets(s.plain, s.files / "sets.json"),
    "imports.fetch_and_import": lambda s: imports.fetch_and_import(s.plain, "challenge"),
    "imports.import_files": lambda s: imports.import_files(s.plain, [FoundFile(s.files / "debate.csv", True)], ImportOptions()),
    "imports.import_paths": lambda s: imports.import_paths(s.plain, [s.files]),
    "imports.import_space": lambda s: imports.import_space(s.plain, s.files / "space.csv", "s"),
    "imports.import_upload": lambda s: imports.import_upload(s.plain, cases.DEBATES, "d.csv"),
    "imports.import_uploads": lambda s: imports.import_uploads(s.plain, [("d.csv", cases.DEBATES)]),
    "export.build_log": lambda s: export.build_log(s.crashed, "r"),
    "label_files.import_csv": lambda s: label_files.import_csv(s.crashed, RUBRIC, "r", b"", "l.csv"),
    "labels.draw_sample": lambda s: labels.draw_sample(s.crashed, RUBRIC, "r", 5),
    "labels.give_labels": lambda s: labels.give_labels(s.crashed, RUBRIC, "r", [LABEL]),
    "labels.take_back": lambda s: labels.take_back(s.crashed, RUBRIC, "r", LABEL),
    "launch.start": lambda s: launch.start(s.plain, RunRequest("evidence_rules", "bmdm")),
    "ledger.add_once": lambda s: ledger.add_once(
        s.plain, "record result", Entry(kind="result", name="h", hypothesis="it helps", source="here")
    ),
    "ledger.import_file": lambda s: ledger.import_file(s.plain, b"", "l.csv"),
    "ledger.import_published_ladder": lambda s: ledger.import_published_ladder(s.plain),
    "ledger.record_result": lambda s: ledger.record_result(s.plain, "h"),
    "ledger.register": lambda s: ledger.register(s.plain, ledger.Registration("h", "it helps", "it rises")),
    "page_imports.import_path": lambda s: page_imports.import_path(s.plain, str(s.files), ImportOptions(), "127.0.0.1"),
    "page_imports.describe_predictions": lambda s: page_imports.describe_predictions(
        s.plain, str(s.files), None, PredictionOptions(), "127.0.0.1"
    ),
    "page_imports.import_predictions": lambda s: page_imports.import_predictions(
        s.plain, str(s.files), None, PredictionOptions(), "127.0.0.1"
    ),
    "prompt_files.keep": lambda s: prompt_files.keep(s.plain, PromptFile("p.csv", b"id,prompt\na,b\n")),
    "readings.start_reading": lambda s: readings.start_reading(s.plain, Rubric("a", "Is it?"), "debate"),
    "walks.add_stop": lambda s: walks.add_stop(
        s.plain, Stop(dataset="d", walk="w", kind="row", title="t", address="./rows?run=r")
    ),
    "walks.set_sentence": lambda s: walks.set_sentence(s.plain, "k", "so"),
    "walks.move_stop": lambda s: walks.move_stop(s.plain, "k", 1),
    "walks.delete_stop": lambda s: walks.delete_stop(s.plain, "k"),
    "walks.delete_walk": lambda s: walks.delete_walk(s.plain, "d", "w"),
    "reports.delete_report": lambda s: reports.delete_report(s.plain, "r"),
    "reports.save_report": lambda s: reports.save_report(s.plain, "r", {}),
    "rubrics.add": lambda s: rubrics.add(s.plain, Rubric("names-a-pathway", "Does it name one?")),
    "rubrics.add_file": lambda s: rubrics.add_file(s.plain, s.files / "rubric.toml"),
    "run_control.cancel": lambda s: run_control.cancel(s.crashed, "r"),
    "run_control.pause": lambda s: run_control.pause(s.crashed, "r"),
    "run_control.resume": lambda s: run_control.resume(s.crashed, "r"),
    "run_control.retry": lambda s: run_control.retry(s.crashed, "r"),
    "run_control.settle": lambda s: run_control.settle(s.crashed, "r"),
    "run_control.start": lambda s: run_control.start(s.crashed, s.crashed.run_folder(run_of(s).id).spec(), "n", fast()),
    "run_control.work_on": lambda s: run_control.work_on(s.crashed, "r"),
    "studies.run_to_end": lambda s: studies.run_to_end(
        s.crashed, arm_of(s).request, arm_of(s).spec, components=WorkspaceComponents(s.crashed, default_dataset(s.crashed, None))
    ),
    "studies.make_arms": lambda s: studies.make_arms(s.crashed, [arm_of(s)]),
    "runs.add_figure_note": lambda s: runs.add_figure_note(s.crashed, "r", "a figure", "debates", "text"),
    "runs.add_note": lambda s: runs.add_note(s.crashed, "r", None, "text"),
    "runs.delete": lambda s: runs.delete(s.crashed, "r"),
    "runs.delete_note": lambda s: runs.delete_note(s.crashed, "n"),
    "runs.delete_preset": lambda s: runs.delete_preset(s.crashed, "debates", "p"),
    "runs.rename": lambda s: runs.rename(s.crashed, "r", "other"),
    "runs.save_preset": lambda s: runs.save_preset(s.crashed, "debates", "p", {}),
    "runs.set_values": lambda s: runs.set_values(s.crashed, "r", {"note": "x"}),
    "site.build_site": lambda s: site.build_site(s.crashed, "r"),
    "site.write_site": lambda s: site.write_site(s.crashed, "r", s.files / "site"),
    "spaces.delete": lambda s: spaces.delete(s.plain, "s"),
    "spaces.embed": lambda s: spaces.embed(s.plain, "coresponse", "s", {"dataset": "bmdm"}),
    "submissions.package": lambda s: submissions.package(s.crashed, "r", PackageOptions("B"), s.files / "out.zip"),
    "target_ranking.resume": lambda s: target_ranking.resume(s.plain, "t"),
    "target_ranking.start_apart": lambda s: target_ranking.start_apart(s.plain, targets.request()),
    "target_ranking.train": lambda s: target_ranking.train(s.plain, targets.request(), print),
    "target_ranking.work_on": lambda s: target_ranking.work_on(s.plain, "t", print),
    "target_ranking.create": lambda s: target_ranking.create(s.plain, targets.request()),
    "target_ranking.delete": lambda s: target_ranking.delete(s.plain, "t"),
    "target_ranking.evaluate_saved": lambda s: target_ranking.evaluate_saved(s.plain, "t", EvaluationRequest()),
    "undo.undo": lambda s: undo.undo(s.plain, "train.csv"),
    "comparison_log.write_looked": lambda s: comparison_log.write_looked(s.plain, "d", {("a", "b"): 0.5}),
    "changed_settings.check_change": lambda s: changed_settings.check_change(s.crashed, s.crashed.run_folder("r"), None, fast()),
    "launch.health": lambda s: asyncio.run(launch.health(s.plain)),
    "model_servers.check_each": lambda s: asyncio.run(model_servers.check_each(s.plain, s.model)),
    "model_servers.refuse_unfit": lambda s: model_servers.refuse_unfit(s.plain, s.model, "m"),
    "export.write_log": lambda s: export.write_log(io.BytesIO(), s.crashed, "r"),
    "uploads_apart.read_apart": lambda s: uploads_apart.read_apart(s.plain, "import", [("a.csv", b"")], {}),
    "jobs.start": lambda s: jobs.start(s.plain, jobs.folder_of(s.plain, "benchmarks", "x"), "benchmarks", ("runs",)),
    "prompt_files.check_lengths": lambda s: prompt_files.check_lengths(s.plain, None, None, fast()),
    "readings.plan_reading": lambda s: readings.plan_reading(s.crashed, RUBRIC, "r"),
    "readings.estimate": lambda s: readings.estimate(s.crashed, READING),
    "run_control.start_worker": lambda s: run_control.start_worker(s.crashed, run_of(s).id),
}

# These read, and are called with what they can read; what they raise without it is no matter here.
READERS: Mapping[str, Callable[[Stage], object]] = {
    "ablations.load_material": lambda s: ablations.load_material(s.plain),
    "ablations.run_ablation": lambda s: ablations.run_ablation(s.plain, next(iter(ablations_known())), {}),
    "cells.job_of": lambda s: cells.job_of(s.plain, s.files / "screen.h5ad", "s"),
    "export.export_into": lambda s: export.export_into(io.BytesIO(), s.crashed, "r", "csv"),
    "jobs.folder_of": lambda s: jobs.folder_of(s.plain, "cells", "none"),
    "jobs.count_finished": lambda s: jobs.count_finished(s.crashed, run_of(s)),
    "jobs.list_folders": lambda s: jobs.list_folders(s.crashed),
    "jobs.settle_crashed": lambda s: jobs.settle_crashed(s.crashed),
    "jobs.find_unsettled": lambda s: jobs.find_unsettled(s.crashed),
    "comparison_log.look_at": lambda s: comparison_log.look_at(s.plain, "d", [("a", "b", 0.5)]),
    "comparison_log.looked_by_dataset": lambda s: comparison_log.looked_by_dataset(s.plain),
    "comparison_log.read_looked": lambda s: comparison_log.read_looked(s.plain, "d"),
    "fusion_files.find_explorer": lambda s: fusion_files.find_explorer(s.crashed, run_of(s), labels=True),
    "fusion_files.fusion_data": lambda s: fusion_files.fusion_data(s.crashed, "r", labels=True),
    "fusion_files.fusion_file": lambda s: fusion_files.fusion_file(s.crashed, "r", labels=False),
    "ledger.list_lines": lambda s: ledger.list_lines(s.plain),
    "model_servers.refuse_unlisted": lambda s: model_servers.refuse_unlisted(s.plain, s.model),
    "run_control.settings_of_worker": lambda s: run_control.settings_of_worker(s.crashed, run_of(s).id),
    "ask.answer_of": lambda s: ask.answer_of(s.crashed, "r", "Pa_Ga"),
    "ask.list_ad_hoc_runs": lambda s: ask.list_ad_hoc_runs(s.plain, "bmdm"),
    "ask.pair_of": lambda s: ask.pair_of(s.crashed, run_of(s)),
    "ask.question_again": lambda s: ask.question_again(s.crashed, run_of(s)),
    "ask_again.plan_again": lambda s: ask_again.plan_again(s.crashed, ask_again.AgainRequest("r", "Pa_Ga")),
    "report_pdfs.find_job": lambda s: report_pdfs.find_job(s.plain, "r"),
    "report_pdfs.has_pdfs": lambda s: report_pdfs.has_pdfs(s.plain, "r"),
    "report_pdfs.find_pdfs": lambda s: report_pdfs.find_pdfs(s.plain, "r", "c"),
    "job_control.find": lambda s: job_control.find(s.crashed, "run", run_of(s).id),
    "job_control.find_named": lambda s: job_control.find_named(s.crashed, "r"),
    "job_control.list_jobs": lambda s: job_control.list_jobs(s.crashed),
    "contamination.plan_contamination": lambda s: contamination.plan_contamination(
        s.crashed, contamination.ContaminationRequest("r")
    ),
    "attribution.plan_attribution": lambda s: attribution.plan_attribution(s.crashed, attribution.AttributionRequest("r")),
    "studies.answered_rows": lambda s: studies.answered_rows(s.crashed, run_of(s), "sample=1"),
    "studies.cost_of": lambda s: studies.cost_of(s.crashed, run_of(s), [arm_of(s)]),
    "studies.find_done": lambda s: studies.find_done(s.crashed, arm_of(s).spec),
    "studies.plan_arms": lambda s: studies.plan_arms(s.crashed, run_of(s), ("Pa_Ga",), [studies.Asking("n", {}, 0)]),
    "studies.server_of": lambda s: studies.server_of(s.crashed, [run_of(s).id]),
    "backups.back_up": lambda s: backups.back_up(s.plain, s.elsewhere / "b.zip", replace=True),
    "benchmark_baselines.compute_baselines": lambda s: benchmark_baselines.compute_baselines(
        s.plain, BaselineRequest(default_dataset(s.plain, None).id, "train")
    ),
    "benchmark_plans.plan_inputs": lambda s: benchmark_plans.plan_inputs(s.plain, parse_benchmark(BENCHMARK)),
    "benchmark_plans.tokens_per_row": lambda s: benchmark_plans.tokens_per_row(s.plain, parse_benchmark(BENCHMARK)),
    "benchmark_ledger.looked_lines": lambda s: benchmark_ledger.looked_lines(
        s.plain, BenchmarkReport(parse_benchmark(BENCHMARK), 0, (), None, {}, None, default_dataset(s.plain, None))
    ),
    "benchmarks.find_benchmark": lambda s: benchmarks.find_benchmark(s.plain, parse_benchmark(BENCHMARK)),
    "cells.describe_typed": lambda s: cells.describe_typed(s.plain, "p.h5ad", LabelSettings(), "127.0.0.1"),
    "claim_knowledge.load_knowledge": lambda s: claim_knowledge.load_knowledge(s.plain, None),
    "claims.claims_of_run": lambda s: claims.claims_of_run(s.crashed, "r"),
    "clash.clash_of_run": lambda s: clash.clash_of_run(s.crashed, "r"),
    "cells.control_expression_of": lambda s: cells.control_expression_of(s.plain, "d"),
    "cells.find_problems": lambda s: with_cursor(s.plain, lambda db: cells.find_problems(s.plain, db)),
    "cells.screen_folder": lambda s: cells.screen_folder(s.plain, default_dataset(s.plain, None)),
    "component_loader.default_dataset": lambda s: default_dataset(s.plain, None),
    "component_loader.hash_contents": lambda s: component_loader.hash_contents(s.plain, default_dataset(s.plain, None).id, ()),
    "component_loader.load_index": lambda s: component_loader.load_index(s.plain, default_dataset(s.plain, None)),
    "component_loader.load_spaces": lambda s: component_loader.load_spaces(
        s.plain, index_of(s.plain), default_dataset(s.plain, None), []
    ),
    "derived_runs.neighbours_of": lambda s: derived_runs.neighbours_of(
        s.plain, default_dataset(s.plain, None), "Pa_Ga", KnnSettings(("s",))
    ),
    "expectations.expectation_of": lambda s: expectations.expectation_of(s.crashed, "r", "Pa_Ga"),
    "expectations.has_label": lambda s: expectations.has_label(s.crashed, "r", "Pa_Ga"),
    "expectations.tally": lambda s: expectations.tally(s.crashed),
    "finetunes.find": lambda s: finetunes.find(s.plain),
    "finetunes.find_same": lambda s: finetunes.find_same(s.plain, finetunes.FinetuneRequest()),
    "finetunes.list_all": lambda s: finetunes.list_all(s.plain),
    "finetunes.plan": lambda s: finetunes.plan(s.plain, finetunes.FinetuneRequest()),
    "knn_numbers.find_null": lambda s: knn_numbers.find_null(s.plain, s.priors.inputs, s.priors.labels, 2, 3),
    "knn_numbers.kept_null": lambda s: knn_numbers.kept_null(s.plain, "0"),
    "knn_numbers.kept_vectors": lambda s: knn_numbers.kept_vectors(s.crashed, run_of(s), ["Pa_Ga"]),
    "knn_numbers.null_of_run": lambda s: knn_numbers.null_of_run(s.crashed, run_of(s), ["Pa_Ga"], compute=True),
    "knn_numbers.numbers_of": lambda s: knn_numbers.numbers_of(s.plain, s.priors, FOLDS, 3),
    "knn_numbers.space_to_scramble": lambda s: knn_numbers.space_to_scramble(s.crashed, run_of(s), index_of(s.crashed)),
    "label_files.export_csv": lambda s: label_files.export_csv(s.crashed, RUBRIC, "r"),
    "launch.describe_not_asked": lambda s: launch.describe_not_asked(
        s.crashed, RunRequest("debate", "bmdm"), s.crashed.run_folder(run_of(s).id).spec()
    ),
    "launch.estimate": lambda s: launch.estimate(s.crashed, s.crashed.run_folder(run_of(s).id).spec(), 1),
    "launch.execution_settings": lambda s: launch.execution_settings(
        s.plain, RunRequest("debate", "bmdm"), method_named("debate")
    ),
    "launch.price_of": lambda s: launch.price_of(s.plain),
    "launch.rate_of": lambda s: launch.rate_of(s.plain, "debate", "m"),
    "launch.resolve": lambda s: launch.resolve(s.plain, RunRequest("debate", "bmdm")),  # it would ask for the model
    "launch.settings_to_resume": lambda s: launch.settings_to_resume(
        s.plain, RunRequest("debate"), s.crashed.run_folder(run_of(s).id).spec(), fast(), method_named("debate")
    ),
    "ledger.list_entries": lambda s: ledger.list_entries(s.plain),
    "lineage.prompts_of": lambda s: with_cursor(s.crashed, lambda db: lineage.prompts_of(s.crashed, db, [run_of(s)])),
    "model_servers.call_settings": lambda s: model_servers.call_settings(s.plain, s.model, "m", CallSettings()),
    "model_servers.endpoint_of": lambda s: model_servers.endpoint_of(s.plain, s.model),
    "model_servers.find_entries": lambda s: model_servers.find_entries(s.plain, s.model, "m"),
    "model_servers.prices_of_runs": lambda s: model_servers.prices_of_runs(s.crashed, [run_of(s)]),
    "model_servers.price_at": lambda s: model_servers.price_at(s.plain, s.model, "m"),
    "packs.list_with_organisms": lambda s: packs.list_with_organisms(s.plain),
    "packs.name_of_latest": lambda s: packs.name_of_latest(s.plain, "descriptions"),
    "packs.names_of_kind": lambda s: list(packs.names_of_kind(s.plain, "pathways")),
    "packs.organism_of_pack": lambda s: packs.organism_of_pack(s.plain, PACK),
    "packs.pack_hashes": lambda s: packs.pack_hashes(s.plain, "mouse"),
    "pack_texts.list_with_texts": lambda s: pack_texts.list_with_texts(s.plain),
    "pack_texts.read": lambda s: [pack_texts.read(s.plain, each) for each in pack_texts.list_with_texts(s.plain)],
    "packs.read_latest": lambda s: packs.read_latest(s.plain, "descriptions"),
    "packs.read_orthologs": lambda s: packs.read_orthologs(s.plain, "mouse"),
    "packs.read_packs": lambda s: packs.read_packs(s.plain, {}),
    "packs.read_symbol_tables": lambda s: packs.read_symbol_tables(s.plain),
    "prompt_files.check": lambda s: prompt_files.check(
        s.crashed, s.crashed.run_folder(run_of(s).id).spec(), PromptFile("p.csv", b"id,prompt\na,b\n")
    ),
    "prompt_files.describe_unknown": lambda s: prompt_files.describe_unknown(
        s.crashed, s.crashed.run_folder(run_of(s).id).spec(), None
    ),
    "prompt_files.rows_of": lambda s: prompt_files.rows_of(s.plain, "bmdm", "0" * 64, PromptFile("p.csv", b"id,prompt\na,b\n")),
    "prompt_files.read_kept": lambda s: prompt_files.read_kept(s.plain, "0" * 64),
    "readings.answer_by_rule_of": lambda s: readings.answer_by_rule_of(s.crashed, RUBRIC, run_of(s)),
    "readings.answers": lambda s: readings.answers(s.crashed, RUBRIC, "r"),
    "readings.find_reading": lambda s: find_reading(s),
    "readings.find_answers": lambda s: readings.find_answers(s.crashed, run_of(s), RUBRIC),
    "report_finders.finders_of": lambda s: report_finders.finders_of(s.plain),
    "reports.find_report": lambda s: reports.find_report(s.plain, "r"),
    "reports.author_and_day": lambda s: reports.author_and_day(s.plain, "r"),
    "reports.saved_reports": lambda s: reports.saved_reports(s.plain),
    "reproduction.reproduce_numbers": lambda s: reproduction.reproduce_numbers(s.plain, only="nothing"),
    "rubrics.find": lambda s: rubrics.find(s.plain, "q"),
    "rubrics.list_all": lambda s: rubrics.list_all(s.plain),
    "run_control.find_same": lambda s: run_control.find_same(s.crashed, s.crashed.run_folder(run_of(s).id).spec(), "r"),
    "run_control.find_status": lambda s: run_control.find_status(s.crashed, "r"),
    "run_control.log_tail": lambda s: run_control.log_tail(s.crashed, "r"),
    "run_control.progress_of": lambda s: run_control.progress_of(s.crashed, "r"),
    "run_control.settings_of": lambda s: run_control.settings_of(s.crashed, "r"),
    "run_control.states": lambda s: run_control.states(s.crashed),
    "jobs.settle_ended": lambda s: jobs.settle_ended(s.crashed),  # nobody asks for it
    "jobs.unsettled_runs": lambda s: jobs.unsettled_runs(s.crashed, [run_of(s)]),
    "jobs.with_present_states": lambda s: jobs.with_present_states(s.crashed, [run_of(s)]),
    "same_runs.find_same_run": lambda s: with_cursor(
        s.crashed, lambda db: same_runs.find_same_run(db, s.crashed, s.crashed.run_folder(run_of(s).id).spec(), "r")
    ),
    "spaces.specify": lambda s: spaces.specify(s.plain, "coresponse", {"dataset": "bmdm"}),
    "spaces.coverage_of": lambda s: spaces.coverage_of(s.plain, SPACE),
    "spaces.load": lambda s: spaces.load(s.plain, SPACE),
    "spaces.refuse_uncovering": lambda s: spaces.refuse_uncovering(s.plain, make_space("s", ["Pa"], np.ones((1, 2)), "x"), "x"),
    "spaces.match_dataset": lambda s: spaces.match_dataset(s.plain, SPACE, default_dataset(s.plain, None).id),
    "streamed_knn.predict_file": lambda s: streamed_knn.predict_file(
        s.plain, default_dataset(s.plain, None), KnnSettings(("s",)), s.files / "p.parquet", s.elsewhere / "out.parquet"
    ),
    "submissions.check_file": lambda s: submissions.check_file(s.plain, cases.DEBATES, "B"),
    "submissions.check_run": lambda s: submissions.check_run(s.plain, "r", PackageOptions("B")),
    "submissions.expected_ids": lambda s: submissions.expected_ids(s.plain, default_dataset(s.plain, None).id),
    "target_ranking.find": lambda s: target_ranking.find(s.plain),
    "target_ranking.list_all": lambda s: target_ranking.list_all(s.plain),
}


def with_cursor(workspace: Workspace, read: Callable[[Cursor], object]) -> object:
    with workspace.store.read() as db:
        return read(db)


def index_of(workspace: Workspace) -> RowIndex:
    return component_loader.load_index(workspace, default_dataset(workspace, None))


def load_rows(stage: Stage) -> RunRows:
    with stage.crashed.store.read() as db:
        return load_scored_rows(db, run_of(stage).id)


def arm_of(stage: Stage) -> Arm:
    return Arm(RunRequest("evidence_rules", name="r"), stage.crashed.run_folder(run_of(stage).id).spec(), is_done=False)


def find_reading(stage: Stage) -> Run:
    with stage.crashed.store.read() as db:
        return readings.find_reading(stage.crashed, db, RUBRIC, stored_runs.find(db, "r"))


def run_of(stage: Stage) -> Run:
    with stage.crashed.store.read() as db:
        return stored_runs.find(db, "r")


@pytest.fixture(scope="module")
def counted() -> Iterator[ModelServer]:
    with counting() as server:
        yield server


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, counted: ModelServer) -> Stage:
    folder = tmp_path_factory.mktemp("stage")
    crashed, _ = killed_run(folder / "crashed")
    plain, full = (open_workspace(Settings(workspace=folder / name, author="tester")) for name in ("plain", "full"))
    crashed, plain = (
        replace(each, settings=replace(each.settings, endpoint=counted.address, api_key=API_KEY)) for each in (crashed, plain)
    )
    for workspace, files in ((plain, ("train", "test")), (full, ("train", "test", "debate"))):
        for name in files:
            content = {"train": cases.TRAIN, "test": cases.TEST, "debate": cases.DEBATES}[name]
            assert imports.import_upload(workspace, content, f"{name}.csv").kind != "failed"
    bundle = recognise_upload(bundles.build_bundle(full, "debate").content, "b.zip")
    assert isinstance(bundle, BundleFile)
    (folder / "files").mkdir()
    screen = open_workspace(Settings(workspace=folder / "screen", author="tester"))
    worlds.furnish(screen)
    priors = WorkspaceComponents(screen, default_dataset(screen, None)).predict_knn(KnnSettings(("near",), FOLDS), None)
    (folder / "files" / "debate.csv").write_bytes(cases.DEBATES)
    return Stage(crashed, plain, bundle, folder / "files", tmp_path_factory.mktemp("elsewhere"), counted.address, priors)


def closed(workspace: Workspace, how: str) -> Workspace:
    if how == "read-only":
        return Workspace(replace(workspace.settings, read_only=True))
    return workspace.for_person(Person("Bob", "bob@lab.example", "reader"))


def content_of(stage: Stage) -> dict[Path, bytes]:
    """Every file of both workspaces and beside them, but for locks and logs."""
    places = (stage.crashed.settings.workspace, stage.plain.settings.workspace, stage.files)
    files = [file for place in places for file in place.rglob("*") if file.is_file()]
    return {file: file.read_bytes() for file in files if file.suffix not in (".lock", ".log", ".holder")}


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["read-only", "a reader"])
def test_every_action_refuses_and_changes_nothing(stage: Stage, how: str) -> None:
    shut = replace(stage, crashed=closed(stage.crashed, how), plain=closed(stage.plain, how))
    before = content_of(stage)
    for name, call in CALLS.items():
        with beating(shut) if name == "run_control.pause" else nullcontext(), pytest.raises(ReadOnly) as refused:
            call(shut)
        assert ("signed in as a reader" if how == "a reader" else "PERTURBDESK_READ_ONLY is set") in str(refused.value), name
        assert content_of(stage) == before, name


@contextmanager
def beating(stage: Stage) -> Iterator[None]:
    """As if a worker were on the run."""
    folder = stage.crashed.run_folder(run_of(stage).id)
    kept = folder.heartbeat.read_bytes()
    write_heartbeat(folder, Heartbeat("running", Counts(), 40, 0, time.time()))
    yield
    folder.heartbeat.write_bytes(kept)


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["read-only", "a reader"])
def test_who_only_reads_changes_nothing_and_asks_no_server(stage: Stage, counted: ModelServer, how: str) -> None:
    shut = replace(stage, crashed=closed(stage.crashed, how), plain=closed(stage.plain, how))
    before, others = content_of(stage), psutil.Process().children()  # such as a server of another test
    for name, call in READERS.items():
        with suppress(DeskError, ValueError):
            call(shut)
        assert content_of(stage) == before, name
        assert not counted.asked, name
        assert psutil.Process().children() == others, name


def test_every_action_refuses_or_reads() -> None:
    """A new one needs a call above: none takes a workspace otherwise."""
    assert actions() == CALLS.keys() | READERS.keys()
    assert not CALLS.keys() & READERS.keys()
