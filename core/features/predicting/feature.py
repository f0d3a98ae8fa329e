"""What the feature predicting brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "predicting",
    "Runs: started, watched, paused, deleted; the model servers that they ask.",
    pages=(Page("run", "Run", "rocket_launch", group="Make"),),
    commands={
        "runs": Command(
            "core.features.predicting.run_commands:runs_app",
            "List the runs; set, rename, delete one.",
            "Look",
        ),
        "run": Command(
            "core.features.predicting.commands:app",
            "Predict with a method, here or detached.",
            "Predict",
        ),
        "jobs": Command(
            "core.features.predicting.job_commands:app",
            "Background work of every kind: list, log, pause, resume, stop.",
            "Operate",
        ),
        "endpoint": Command(
            "core.features.predicting.commands:app",
            "Check one or several model servers.",
            "Operate",
        ),
        "serve": Command(
            "core.features.predicting.commands:app",
            "Start and supervise a model server.",
            "Operate",
        ),
        "pause": Command(
            "core.features.predicting.job_commands:app", "As jobs pause.", "Operate", is_hidden=True
        ),
        "resume": Command(
            "core.features.predicting.job_commands:app",
            "As jobs resume.",
            "Operate",
            is_hidden=True,
        ),
        "cancel": Command(
            "core.features.predicting.job_commands:app",
            "As jobs cancel.",
            "Operate",
            is_hidden=True,
        ),
        "retry": Command(
            "core.features.predicting.job_commands:app", "As jobs retry.", "Operate", is_hidden=True
        ),
        "log": Command(
            "core.features.predicting.job_commands:app", "As jobs log.", "Operate", is_hidden=True
        ),
        "worker": Command(
            "core.features.predicting.commands:app",
            "Work on a run until it ends (used internally).",
            "Operate",
            is_hidden=True,
            settles=False,
        ),
    },
    jobs=("core.runs.jobs.run_kind:KIND",),
    upload_tasks={"prompts": "core.runs.prompt_files:prompts_task"},
)
