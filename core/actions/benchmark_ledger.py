"""A benchmark's hypothesis in the ledger: registered before its first arm is made, its result recorded when all are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from core.actions import ledger
from core.actions.comparison_log import look_at
from core.actions.ledger import Registration
from core.actions.workspace import Workspace
from core.errors import InputError
from core.experiments import measure
from core.experiments.benchmark_report import ArmLoader, BenchmarkReport, Runs, pair_arms
from core.experiments.benchmark_spec import BenchmarkSpec
from core.experiments.ledger import pair_of_arms
from core.experiments.paired_replicates import compare_replicates
from core.stats.multiplicity import p_value
from core.store import datasets, runs
from core.store.hypotheses import Entry
from core.store.runs import Run


def register_hypothesis(workspace: Workspace, spec: BenchmarkSpec, dataset: str, made: Runs) -> Entry | None:
    """Register the hypothesis that a benchmark names; the same one again changes nothing. None if it names none.

    dataset: its id. made: the runs that are done before; where both arms have one under one cut, the result was there to see, and
    the entry says so. Raise InputError for a name under which the ledger holds a hypothesis about other runs, and for an arm of
    another level than the rule's; ReadOnly.
    """
    about = spec.hypothesis
    if about is None:
        return None
    workspace.refuse_if_read_only("register hypothesis", about.name or spec.name)
    arm = spec.arm(about.arm)
    control = spec.control_of(arm)
    found = _runs_of(workspace, made)
    methods = {run.method for run in found.values()} if arm.run else {"fusion" if arm.base else arm.method}
    for method in methods:
        measure.refuse_other_level(spec.rule, f"arm {arm.name!r}", method)
    wanted = Registration(
        name=about.name or spec.name,
        hypothesis=about.claim,
        prediction=about.prediction,
        rule=spec.rule,
        a=control.name,
        b=arm.name,
        dataset=dataset,
        benchmark=spec.name,
        seen_before=bool(_paired_runs(spec, made, found)),
    )
    _refuse_other_hypothesis(workspace, wanted)
    return ledger.register(workspace, wanted)


def _refuse_other_hypothesis(workspace: Workspace, wanted: Registration) -> None:
    with workspace.store.read() as db:
        dataset = datasets.find(db, wanted.dataset).name
        first = ledger.first_registration(db, wanted.name, dataset)
    if first is not None and (first.name_a or first.name_b) and (first.name_a, first.name_b) != (wanted.a, wanted.b):
        raise InputError(
            f"hypothesis {wanted.name!r}: the ledger has one about {first.name_b} against {first.name_a}, not {wanted.b} against "
            f"{wanted.a}; expected another name in [hypothesis]"
        )


def record_result(workspace: Workspace, spec: BenchmarkSpec, dataset: str, rows: Sequence[str], made: Runs) -> Entry | None:
    """Record the result of a benchmark's hypothesis, the change of its arm by the rule that was registered first.

    The same result again changes nothing; None if it names no hypothesis. Raise StateError if a run is missing, NotFound if its
    hypothesis was never registered, ReadOnly.
    """
    about = spec.hypothesis
    if about is None:
        return None
    name = about.name or spec.name
    workspace.refuse_if_read_only("record result", name)
    arm = spec.arm(about.arm)
    control = spec.control_of(arm)
    with workspace.store.read() as db:
        registration = ledger.find_registration(db, name, datasets.find(db, dataset).name)
        rule = ledger.rule_of(registration)
        pair = pair_arms(ArmLoader(db, dataset), spec, control, arm, rows, made)
    assert registration.written_at is not None
    entry = replace(
        registration,
        kind="result",
        name_a=control.name,
        name_b=arm.name,
        benchmark=spec.name,
        scored=pair.scored,
        note=None,
        seen_before=_was_seen(_paired_runs(spec, made, _runs_of(workspace, made)), registration.written_at),
    )
    difference = getattr(compare_replicates(pair).comparison, rule.metric)
    return ledger.add_once(workspace, "record result", measure.measure_difference(entry, rule, difference))


def looked_lines(workspace: Workspace, found: BenchmarkReport) -> list[str]:
    """Count the comparisons of a benchmark's arms among the dataset's; return one line per comparison with its corrected p."""
    name = found.spec.name
    compared = [
        (*pair_of_arms(name, each.control.name, each.arm.name), p_value(each.decisive(found.spec))) for each in found.results
    ]
    looked = look_at(workspace, found.dataset.id, compared)
    names = (f"{each.arm.name} against {each.control.name}" for each in found.results)
    return [f"{both}: {seen.words}" for both, seen in zip(names, looked, strict=True)]


def _runs_of(workspace: Workspace, made: Runs) -> dict[str, Run]:
    wanted = {run for of_arm in made.values() for run in of_arm.values()}
    with workspace.store.read() as db:
        return {run: runs.find_predicting(db, run) for run in wanted}


def _paired_runs(spec: BenchmarkSpec, made: Runs, found: dict[str, Run]) -> list[tuple[Run, Run]]:
    """Return the runs of the control and of the arm under the same cut: they reveal a result."""
    assert spec.hypothesis is not None
    arm = spec.arm(spec.hypothesis.arm)
    first, second = (made.get(each.name, {}) for each in (spec.control_of(arm), arm))
    return [(found[a], found[b]) for (cut, _), a in first.items() for (other, _), b in second.items() if cut == other]


def _was_seen(pairs: Sequence[tuple[Run, Run]], registered_at: datetime) -> bool:
    return any(measure.result_was_there(a, b, registered_at) for a, b in pairs)
