"""Small files that several rooms' tests import."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence


def as_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file's bytes."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().encode()


def zip_of(members: Mapping[str, bytes | str]) -> bytes:
    """A zip's bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def as_zip(**members: bytes) -> bytes:
    """A zip's bytes; `submission` becomes submission.csv."""
    return zip_of({f"{name}.csv": content for name, content in members.items()})


TRAIN = as_csv(
    ["id", "pert", "gene", "label"],
    [
        ["Pa_Ga", "Pa", "Ga", "up"],
        ["Pa_Gb", "Pa", "Gb", "none"],
        ["Pb_Ga", "Pb", "Ga", "down"],
        ["Pb_Gb", "Pb", "Gb", "none"],
    ],
)
TEST = as_csv(["id", "pert", "gene"], [["Pc_Gc", "Pc", "Gc"], ["Pc_Gm12", "Pc", "Gm12"]])
ARGUED = "Pa regulates Ga through a shared program. It is expressed here. So a change is likely after the knockdown of Pa, in all."


def debate_trace(p_de: float = 0.4, p_up: float = 0.75, **briefs: str) -> str:
    """A debate's trace as the published submissions write it."""
    said = {"EFFECT": ARGUED, "NULL": ARGUED, "UP": ARGUED, "DOWN": ARGUED, **briefs}
    verdicts = {
        "de_verdict": f"<prob>{100 * p_de:.0f}</prob>",
        "dir_verdict": f"<prob>{100 * p_up:.0f}</prob>",
    }
    return json.dumps(
        {"tool_calls": 7, "briefs": said, **verdicts, "P_DE": p_de, "P_up_given_DE": p_up}
    )


def submission(rows: Iterable[tuple[str, float, float, str]], tokens: int = 100) -> bytes:
    """A track B submission of (id, up, down, trace)."""
    header = [
        "id",
        "prediction_up",
        "prediction_down",
        "reasoning_trace",
        "tokens_used",
        "num_tool_calls",
        "prompt_tokens",
    ]
    header += ["num_distinct_tools", "model_name"]
    return as_csv(header, [[*row, tokens, 7, 995, 5, "some/model"] for row in rows])


DEBATES = submission(
    [
        ("Pa_Ga", 0.3, 0.1, debate_trace()),
        ("Pa_Gb", 0.3, 0.1, debate_trace(UP="C) Knockdown of Pa does not affect Gb.")),
        ("Pb_Ga", 0.2, 0.2, debate_trace()),  # not what its trace says
        ("Pc_Gc", 0.333, 0.333, "none"),
    ]
)
