"""The command `rubric label`: draws texts for people to read, and exports and imports their
labels."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError
from core.base.fields.record import make
from core.base.file_io import read_file, replace_file
from core.cli.base import show
from core.cli.names import RunName, complete
from core.cli.settings import takes
from core.features.arguments import rubrics
from core.features.arguments.text_sampling import SampleRequest

if TYPE_CHECKING:
    from core.features.arguments.rubric import Rubric
    from core.runs.workspace import Workspace

RubricName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="A rubric's name, as `rubric list` prints it.",
        autocompletion=complete(rubrics.list_rubrics),
    ),
]
MOST_BYTES = 1 << 28  # of a file of labels


@takes(SampleRequest)
def label(
    context: typer.Context,
    name: RubricName,
    run: RunName,
    chosen: dict[str, Any],
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all labels as CSV.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Import labels from CSV.")
    ] = None,
) -> None:
    """Draw texts of a run that people read for a rubric; export and import their answers."""
    wanted = make(SampleRequest, chosen)
    given = (("--sample", wanted.size), ("--export", export), ("--import", import_))
    asked = [option for option, value in given if value is not None]
    if len(asked) != 1:
        raise InputError(
            f"rubric label: got {', '.join(asked) or 'nothing to do'}, expected one of --sample,"
            " --export and --import"
        )
    rubric: Rubric = rubrics.find_rubric(context.obj, name)
    if wanted.size is not None:
        _draw(context.obj, rubric, run, wanted)
    elif export is not None:
        from core.features.arguments.label_files import export_csv

        content, n = export_csv(context.obj, rubric, run)
        replace_file(export, content)
        show({"file": str(export), "labels": n}, f"{export}: {n:,} labels")
    elif import_ is not None:
        from core.features.arguments.label_files import import_csv

        done = import_csv(context.obj, rubric, run, read_file(import_, MOST_BYTES), import_.name)
        counts = {name: getattr(done, name) for name in ("new", "changed", "known")}
        words = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        show({"file": str(import_), **counts}, f"{import_}: labels {words}")


def _draw(workspace: Workspace, rubric: Rubric, run: str, wanted: SampleRequest) -> None:
    from core.features.arguments.labels import draw_sample

    sample = draw_sample(workspace, rubric, run, wanted.size or 0, wanted.design, wanted.seed)
    roles = Counter(text.role or rubric.unit for text in sample.texts)
    text = [
        (
            f"{len(sample.texts):,} texts of {run} for {rubric.name}, {wanted.design}, seed"
            f" {wanted.seed}: sample {sample.id}"
        ),
        *(f"{n:>9,}  {role}" for role, n in roles.items()),
        "Read them on the page Arguments, tab Label (make app).",
    ]
    facts = {
        "rubric": sample.rubric,
        "run": sample.run,
        "sample": sample.id,
        "by": sample.design,
        "seed": sample.seed,
    }
    show(
        {**facts, "reading": sample.reading or None, "n": len(sample.texts), "roles": dict(roles)},
        "\n".join(text),
    )
