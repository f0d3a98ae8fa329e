"""The command claims: what the texts of a run claim about genes, checked against imported knowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.audit.claim_checks import ClaimFilter, ClaimsRequest
from core.cli import names
from core.cli.base import Json, show
from core.cli.names import RunName
from core.cli.settings import takes
from core.fields.record import make
from core.texts import table_lines

if TYPE_CHECKING:
    from core.scoring.claim_counts import RunClaims

app = typer.Typer()
MOST_SHOWN = 20


@app.command()
@takes(ClaimsRequest)
def claims(
    context: typer.Context,
    run: RunName,
    chosen: dict[str, Any],
    reading: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="With --reader model: a finished reading by name or id, by default the newest.",
            autocompletion=names.complete_run,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find claims such as "X activates Y" in a run's texts, check them against knowledge packs, and count them by role.

    A model reads them first with `rubric run claims RUN --judge model`.
    """
    from core.actions.claims import claims_of_run
    from core.scoring.claim_words import as_json as shape

    asked = make(ClaimsRequest, chosen)
    if reading is not None and asked.reader != "model":
        raise typer.BadParameter("rules have no saved reading; use it with --reader model", param_hint="--reading")
    found = claims_of_run(context.obj, run, asked, reading)
    show(shape(found, asked.shown), as_json, _text(found, asked.shown))


def _text(found: RunClaims, asked: ClaimFilter) -> str:
    from core.scoring.claim_counts import select_claims
    from core.scoring.claim_words import counts_table, describe
    from core.scoring.rubric_words import worth_sentences

    lines = [*describe(found), "", *table_lines(counts_table(found))]
    claims = select_claims(found, asked)
    claims = claims[~claims["is_answer"]]
    shown = claims.head(MOST_SHOWN)
    lines += ["", *(sentence for each in found.worth for sentence in worth_sentences(each))] if found.worth else []
    lines += ["", f"{len(shown):,} of {len(claims):,} claims:"] if len(claims) else []
    for row in shown.to_dict("records"):
        by = f", {row['pack']}: {row['entry']}" if row["pack"] else ""
        claim = f"{row['subject']} {row['relation']} {row['object']}"
        lines.append(f"  {row['pair_id']} {row['role']}: {claim} ({row['status']}{by})")
    return "\n".join(lines)
