"""The data behind a benchmark's plan: its rows, its finished runs, and the cost of rows.

Also starts a benchmark in a separate process, which outlives the page.
"""

from __future__ import annotations

from core.actions import launch
from core.actions.benchmarks import STUDY, find_benchmark
from core.actions.launch import FindMethod
from core.actions.workspace import Workspace
from core.experiments.benchmark_spec import BenchmarkSpec
from core.experiments.planning import PlanInputs
from core.methods.base import method_named, read_options


def tokens_per_row(workspace: Workspace, spec: BenchmarkSpec, method: FindMethod = method_named) -> dict[str, float | None]:
    """Arm → tokens that a row of it takes under one cut and seed, by what calls of its method took here so far.

    0 for an arm that calls no model, an existing run among them; None if no such call was made, or the model is not named.
    """
    found: dict[str, float | None] = {}
    for arm in spec.arms:
        if arm.base is not None:
            found[arm.name] = found[arm.base]
            continue
        known = None if arm.method is None else method(arm.method)
        if known is None or not known.needs_model:
            found[arm.name] = 0.0
            continue
        rate = launch.rate_of(workspace, known.name, arm.model or "")
        calls = known.calls(read_options(known.options, arm.options))
        found[arm.name] = None if rate is None else calls * (rate.prompt_tokens + rate.completion_tokens)
    return found


def plan_inputs(workspace: Workspace, spec: BenchmarkSpec, method: FindMethod = method_named) -> PlanInputs:
    """Return the data behind a plan, without starting anything: the rows, the finished runs, and the cost of rows."""
    saved = STUDY.get_saved(workspace, spec.name)
    finished = saved is not None and saved.spec == spec and saved.is_done
    there = saved if saved is not None and finished else find_benchmark(workspace, spec, method)
    return PlanInputs(there.dataset, there.rows, there.runs, tokens_per_row(workspace, spec, method))
