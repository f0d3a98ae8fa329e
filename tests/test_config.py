"""What is read from the environment, and what another process is given of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core import config
from core.config import KEY_VARIABLE, Settings, environment_of, load_settings


def test_another_process_has_the_environment_with_the_settings_of_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERTURBDESK_CONTACT", "me@example.org")
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-shell")
    given = replace(load_settings(tmp_path), author="Ada", busy_timeout_s=2.5, store_memory_mb=64, api_key="sk-typed")
    made = environment_of(given)
    assert (made["PERTURBDESK_CONTACT"], made[KEY_VARIABLE]) == ("me@example.org", "sk-typed")
    monkeypatch.setattr(config.os, "environ", made)
    assert load_settings(tmp_path) == given


def test_a_key_that_is_not_given_on_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-shell")
    assert environment_of(Settings())[KEY_VARIABLE] == ""
