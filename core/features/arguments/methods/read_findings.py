"""Lists the findings of a schema in the texts of another run: one question for each text or debate.

It predicts nothing. Each text or debate has one event of kind "reading", as of `judge_rubric`. Its
meta holds `of_seq` (its first text), `roles` (of its sides), `has_verdict`, `answer` (whether there
is a finding) and `invented` (quotations that stand nowhere). Behind it comes an event of kind
"finding" for each finding, with the role in whose words it stands; its meta holds `of_seq` and the
fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from core.base.fields.setting import setting
from core.base.records import parse
from core.base.types import Pair, TraceEvent
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Findings, Passage, Schema, passages_of, read_findings
from core.features.arguments.text_reading import TextReading, mark
from core.llm.answers import Unread
from core.llm.messages import Message, Reply
from core.methods.base import RowMethod, RowText, TextsOfRun
from core.methods.conversation import Messages
from core.methods.prompts import Effort, MaxTokens, fill, prompt_text
from core.methods.text_rules.text import yes_if

_PROMPTS = ("findings", "findings_task", "reask_findings")


@dataclass(frozen=True)
class FindingsSettings:
    """The options of a reading of findings."""

    schema: Annotated[
        str, setting("The schema as JSON, as the command `rubric run` writes it.")
    ] = ""
    run: Annotated[str, setting("The run whose texts are read.", names="run")] = ""
    effort: Effort = ""
    max_tokens: MaxTokens = 4_000


class ReadFindings(TextReading[Passage, Findings]):
    """One question about each passage of a row, all asked concurrently. A row without one has no
    event."""

    name = "read_findings"
    version = 1
    about = (
        "A model lists what another run's texts say, by a schema, with quotations; it predicts"
        " nothing."
    )
    settings = FindingsSettings

    def calls(self, _options: Mapping[str, Any]) -> float:
        """Return the calls for a row of four briefs; the run decides how many it has."""
        return 4

    def prompts(self, _options: Mapping[str, Any]) -> str:
        """Return every text of a prompt, apart from the pair, the schema and the passage."""
        return "\n\n".join(map(prompt_text, _PROMPTS))

    def rubric(self, options: Mapping[str, Any]) -> Rubric:
        """Return the rubric of the schema, which says which texts are read."""
        return _schema(options).rubric

    def items(self, texts: Sequence[RowText], options: Mapping[str, Any]) -> list[Passage]:
        """Return the texts or debates of a row."""
        return passages_of(_schema(options), texts)

    def question(
        self, _texts: TextsOfRun, pair: Pair, item: Passage, options: Mapping[str, Any]
    ) -> Messages:
        """Return the question about a passage, which stands between marks."""
        schema, sides = _schema(options), ", ".join(item.sides)
        one_of = {
            field.name: ", ".join(field.values) or sides
            for field in schema.fields
            if field.kind in ("choice", "side")
        }
        allowed = {name: f"one of {values}. " for name, values in one_of.items()}
        task = fill(
            prompt_text("findings_task"),
            pert=pair.pert,
            gene=pair.gene,
            sides=f"\nSides: {sides}" if schema.of == "debate" else "",
            mark=mark(item.content),
            content=item.content,
            request=schema.request,
            fields="\n".join(
                f"- {field.name}: {allowed.get(field.name, '')}{field.about}"
                for field in schema.fields
            ),
            note=schema.note,
            form=schema.form,
        )
        return Message("system", fill(prompt_text("findings"), role=schema.role)), Message(
            "user", task
        )

    def read_reply(
        self, reply: Reply, item: Passage, options: Mapping[str, Any]
    ) -> Findings | Unread:
        """Return the findings of a reply."""
        return read_findings(_schema(options), reply.content, item)

    def ask_again(self, problem: Unread, options: Mapping[str, Any]) -> str:
        """Return the second request, with the reason why the first answer was rejected."""
        schema = _schema(options)
        return fill(
            prompt_text("reask_findings"),
            listed=schema.listed,
            reason=problem.reason,
            form=schema.form,
        )

    def meta(self, item: Passage, value: Findings) -> Mapping[str, object]:
        """Return the sides, whether the judge gives a reason and there is a finding, and the number
        of invented quotations."""
        sides = {"roles": [*item.sides], "has_verdict": bool(item.verdict)}
        return {**sides, "answer": yes_if(bool(value.findings)), "invented": value.invented}

    def findings(
        self, item: Passage, value: Findings, options: Mapping[str, Any]
    ) -> Iterator[TraceEvent]:
        """Yield each finding."""
        schema = _schema(options)
        for finding in value.findings:
            words = " ".join(finding[name] for name in schema.names("side", "word", "choice"))
            quotes = (
                f"“{' '.join(finding[name].split())}”"
                for name in schema.names("quote")
                if finding[name]
            )
            role, content = (
                str(finding.get("side", item.role)),
                f"{words}: {' '.join(quotes)}",
            )
            yield TraceEvent(
                item.stage, role, "finding", content, meta={"of_seq": item.seq, **finding}
            )


METHOD: RowMethod = ReadFindings()


def _schema(options: Mapping[str, Any]) -> Schema:
    return parse(Schema, str(options["schema"]), "schema")
