"""Benchmark: arms compared blinded and in pairs, one benchmark at a time, and a form that starts one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions.benchmark_ledger import looked_lines
from core.actions.benchmarks import PAGE, SavedBenchmark, job_key, record_result, replicates_of, start_apart
from core.experiments.arm_differences import check_arms
from core.experiments.benchmark_report import ArmResult, BenchmarkReport
from core.experiments.benchmark_spec import BenchmarkSpec, parse_benchmark
from core.experiments.benchmark_words import delta_table, noise_sentence, result_sentences
from core.experiments.ledger import line_of_benchmark
from core.experiments.ledger_words import benchmark_sentence
from core.plots import benchmark_deltas
from core.scoring import terms
from core.scoring.sentences import interval_text
from core.texts import number_text
from core.ui.experiments.spec_box import show_spec_box
from core.ui.shared import links, loaders, score_box, tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import watch_job
from core.ui.shared.linked import choose_one
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty, show_figure


def show(context: PageContext) -> None:
    """Show one of the benchmarks of this dataset, and the form that starts one."""
    saved = [each for each in loaders.saved_benchmarks() if context.dataset and each.dataset == context.dataset.id]
    if not saved:
        show_empty(
            "No benchmark was started here. A benchmark compares arms that differ in one thing, inside the same cells. No arm "
            "sees labels of a row's perturbation or gene."
        )
    else:
        names = {each.spec.name: each.spec.name for each in saved}
        chosen = choose_one(st.selectbox, "benchmark", "Benchmark", names, next(iter(names)))
        name = next((each.spec.name for each in saved if each.spec.name == chosen), saved[0].spec.name)
        with explain_errors():
            _show_benchmark(context, next(each for each in saved if each.spec.name == name))
    if not context.workspace.settings.read_only:
        with st.expander("Start a benchmark", expanded=not saved):
            _show_start(context)


def _show_benchmark(context: PageContext, saved: SavedBenchmark) -> None:
    if saved.spec.question:
        st.markdown(as_text(saved.spec.question))
    if not saved.is_done:
        wanted = sum(len(replicates_of(saved.spec, arm)) for arm in saved.spec.arms)
        st.markdown(f"Not finished: the arms are compared once all {wanted:,} of its runs are done.")
        watch_job(context.workspace, PAGE, job_key(saved.spec.name))
        return
    with st.spinner("Comparing the arms …"):
        found = loaders.benchmark_report(saved.spec.name)
    score_box.show_marks(found.dataset.marks)
    for each in found.results:
        _show_result(each, found)
    for line in looked_lines(context.workspace, found):
        st.caption(as_text(line))
    _show_in_ledger(context, saved)
    st.text(noise_sentence(found.noise))
    _show_arms(found)
    _show_specification(saved.spec)


def _show_result(each: ArmResult, found: BenchmarkReport) -> None:
    verdict, *rest = result_sentences(each, found.spec)
    st.markdown(f"**{as_text(verdict)}**")
    st.text(" ".join(rest), help=terms.explain(" ".join(rest)))
    table = delta_table(each, found.noise).dropna(subset="estimate")
    pair = each.found.pair
    chances = ", ".join(f"{name} {number_text(part.p_gt_0, '.2f')}" for name, part in each.found.comparison.parts.items())
    show_figure(
        benchmark_deltas.figure(table, found.spec.smallest_effect),
        table,
        f"benchmark-{each.arm.name}",
        f"{each.arm.name} minus {each.control.name}",
        f"{found.spec.name} · {each.found.comparison.n_labelled:,} labelled rows, {pair.scored} · paired 95% intervals · "
        f"P(>0) {chances} · ■ the arm against its repeat · ◆ rows that the change cannot affect",
    )


def _show_in_ledger(context: PageContext, saved: SavedBenchmark) -> None:
    """Show the ledger's verdict on the benchmark's hypothesis, and a button that records the result if it is missing."""
    if saved.spec.hypothesis is None:
        return
    line = line_of_benchmark(loaders.ledger_lines(), saved.spec.name)
    if line is not None:
        st.markdown(as_text(benchmark_sentence(line, saved.spec.name)))
    is_recorded = line is not None and line.entry.kind == "result"
    if not is_recorded and not context.workspace.settings.read_only and st.button("Record result", key="record-benchmark"):
        with explain_errors():
            entry = record_result(context.workspace, saved)
            confirm(f"{entry.name}: {entry.verdict}." if entry else "No hypothesis.")
            st.rerun()


def _show_arms(found: BenchmarkReport) -> None:
    """Show every arm with its score inside the cells of the benchmark, and a link to the first of its runs."""
    first = found.results[0]
    scores = {first.control.name: {name: part.a.shown for name, part in first.found.comparison.parts.items()}}
    scores |= {
        each.arm.name: {name: part.b.shown for name, part in each.found.comparison.parts.items()} for each in found.results
    }
    table = pd.DataFrame(
        [
            {
                "arm": arm.name,
                **{name: interval_text(value) for name, value in scores[arm.name].items()},
                "runs": len(set(found.runs.get(arm.name, {}).values())),
                "first run": links.page_address("compare", run=next(iter(found.runs[arm.name].values()))),
            }
            for arm in found.spec.arms
            if arm.name in scores
        ]
    )
    columns = {
        "first run": st.column_config.LinkColumn(display_text="compare"),
        "runs": st.column_config.NumberColumn(format="localized"),
    }
    tables.show_table(table, "arms", columns)
    st.caption(f"Scores of the arms, {first.found.pair.scored} · 95% intervals allowing for shared perturbations and genes")


def _show_specification(spec: BenchmarkSpec) -> None:
    with st.expander("Specification"):
        st.code(spec.text, language="toml")


def _show_start(context: PageContext) -> None:
    text = show_spec_box("benchmark")
    if st.button("Start benchmark", type="primary", disabled=not text.strip()):
        with explain_errors(), st.spinner("Starting …"):
            spec = parse_benchmark(text)
            check_arms(spec)
            start_apart(context.workspace, spec)
            confirm(f"{spec.name} was started in a separate process; the page Run lists its runs.")
            st.session_state.pop("id-benchmark", None)  # so that the choice is read from the address again
            links.set_parameter("benchmark", spec.name)
            st.rerun()
