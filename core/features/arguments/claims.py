"""Claims: "X activates Y" in briefs, as a model reads them, checked against knowledge packs."""

from __future__ import annotations

from core.features.arguments.claim_checks import RELATIONS, STATUSES
from core.features.arguments.claim_knowledge import load_knowledge, settle
from core.features.arguments.finding_kinds import FindingKind
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema

QUESTION = (
    "Does the brief claim something about two genes, apart from the effect that is asked about?"
)
CLAIMS = FindingKind(
    Schema(
        Rubric("claims", QUESTION),
        listed="claims",
        of="text",
        role=(
            "You read a text that a language model wrote about two genes, and list what it claims"
            " about genes: which gene does what to which other gene."
        ),
        request="List every claim that the text makes about two genes.",
        fields=(
            Field("subject", "the gene that acts, spelled as in the text.", "word"),
            Field(
                "relation",
                '"regulates" leaves the direction open; "binds" is a physical interaction; "acts'
                ' with" is a shared pathway or process.',
                "choice",
                RELATIONS,
            ),
            Field("object", "the gene that is acted on, spelled as in the text.", "word"),
            Field("quote", "the sentence that makes the claim, copied word for word."),
        ),
        key=("subject", "relation", "object"),
        note=(
            'A loss turns the relation around: "knockdown of X lowers Y" claims that X activates Y.'
            " What is asked, denied or doubted is no claim. If the text claims nothing, the list is"
            " empty."
        ),
    ),
    texts="texts",
    statuses=STATUSES,
    settle=settle,
    worth=STATUSES,
    load_knowledge=load_knowledge,
)
