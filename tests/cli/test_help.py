"""What --help lists: the settings of a method, of a kind of experiment, of a fine-tune."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.fields.record import options_of
from core.features.experiments.engine import kinds
from core.features.finetune.job_folder import FinetuneSettings
from core.methods.base import methods
from tests.commands import core

LISTED = [
    *((("run", name), method.settings) for name, method in methods().items()),
    *(
        (("experiment", verb, name), kinds()[name].settings)
        for name in ("tools", "few_neighbours")
        for verb in ("plan", "run")
    ),
    (("finetune",), FinetuneSettings),
]


@pytest.mark.parametrize(
    ("words", "record"), LISTED, ids=lambda each: " ".join(each) if isinstance(each, tuple) else ""
)
def test_help_lists_each_setting_with_values_default_and_meaning(
    tmp_path: Path, words: tuple[str, ...], record: type
) -> None:
    done = core(tmp_path, *words, "--help")
    assert done.status == 0
    listed = "".join(
        done.out.partition("Settings, each by --set")[2].split()
    )  # however its lines are broken
    for option in options_of(record):
        meaning = "".join(f"{option.name}{option.about.help}[{option.expected};".split())
        assert listed.partition(meaning)[2].startswith(("default", "needed")), option.name
