"""Every command: its heading in `--help`, its module, and a short description.

A module's commands are separate, or follow its name if the entry is a `Group`. Nothing is imported for `--help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Command(NamedTuple):
    """A command of a module of `core/cli`. hidden: it works, and `--help` leaves it out. settles: whether it records what died in
    the workspace before it opens the store."""

    module: str
    about: str
    hidden: bool = False
    settles: bool = True


class Group(NamedTuple):
    """A module whose commands stand behind its name."""

    about: str


PANELS: Mapping[str, Mapping[str, Command | Group]] = {
    "Data": {
        "demo": Command("files", "Create the simulated demo: a dataset with its runs."),
        "import": Command("files", "Import files or folders, recognised by content."),
        "fetch": Command("files", "Download public files, pinned and checked."),
        "undo": Command("files", "Undo an import: delete its rows and runs."),
        "embed": Group("Gene spaces: build, load, list."),
        "cells": Group("Single cells: labels from a screen, runs from predicted expression."),
        "gene-sets": Command("gene_sets", "Let a model describe what the genes of a set share."),
    },
    "Look": {
        "runs": Group("List the runs; set, rename, delete one."),
        "search": Command("search", "Find a word or phrase in traces and dossiers."),
        "neighbours": Command("transfer", "List the labelled rows behind a row's priors."),
        "note": Group("Notes on runs and their rows: add, list, delete."),
    },
    "Predict": {
        "run": Command("engine", "Predict with a method, here or detached."),
        "knn": Command("transfer", "Predict from the labels of similar genes."),
        "fuse": Command("transfer", "Fuse runs by rank percentiles, or take a fusion apart."),
        "ask": Command("ask", "Ask about one pair and read the argument."),
        "finetune": Command("finetune", "Fine-tune an open model (Track C, LoRA)."),
        "targets": Group("Target ranking: which gene was perturbed."),
    },
    "Judge": {
        "score": Command("numbers", "Score a run: AUROCs with intervals."),
        "compare": Command("numbers", "Compare run B with run A, or several runs."),
        "controls": Command("controls", "Score baselines without biology on a run's rows."),
        "audit": Group("Audit debates and leakage."),
        "rubric": Group("Rubrics: questions asked of every text of a run."),
    },
    "Show": {
        "report": Group("Reports, walk-throughs and sites, as files for others."),
        "export": Command("files", "Write a run's predictions or traces, or all of it."),
        "check": Command("submission", "List every problem of a submission."),
        "package": Command("submission", "Write a run as a submission."),
    },
    "Operate": {
        "jobs": Group("Background work of every kind: list, log, pause, resume, stop."),
        "endpoint": Command("engine", "Check one or several model servers."),
        "serve": Command("engine", "Start and supervise a model server."),
        "serve-app": Command("serve_app", "Serve the app to others."),
        "backup": Command("backup", "Write the whole workspace to one file."),
        "restore": Command("backup", "Fill an empty workspace from a backup."),
        "doctor": Command("doctor", "Show versions, the store, servers and last errors."),
        **{name: Command("jobs", f"As jobs {name}.", hidden=True) for name in ("pause", "resume", "cancel", "retry", "log")},
        # It is what others settle, and leaves the others to them.
        "worker": Command("engine", "Work on a run until it ends (used internally).", hidden=True, settles=False),
        "bench": Command("numbers", "Time the code against a plain implementation.", hidden=True),
    },
}
