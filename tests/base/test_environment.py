"""Another process gets no secret but those that it needs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.config import Settings, load_settings
from core.base.environment import bare_environment, environment_of, keys_needed, without_secrets

KEY, OWN, NCBI = "sk-of-the-lab-0123", "sk-of-gpu1-456789", "ncbi0123456789"
LAB, GPU = "https://llm.lab.org/v1", "https://gpu1.lab.org/v1"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('PLAIN_NAME = "a-secret-under-a-plain-name"\nSHORT = "yes"\n')
    return Settings(
        workspace=tmp_path,
        endpoint=LAB,
        api_key=KEY,
        api_keys=((GPU, OWN),),
        ncbi_api_key=NCBI,
        secrets_file=secrets,
    )


def test_a_worker_gets_the_keys_of_its_servers(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    for servers, sources, there in (
        (LAB, False, {KEY}),
        (GPU, True, {OWN, NCBI}),
        ("https://elsewhere/v1", False, set()),
        ("", False, set()),
        (f"{LAB},{GPU}", False, {KEY, OWN}),
    ):
        made = "\n".join(environment_of(keys_needed(settings, servers, sources=sources)).values())
        assert {secret for secret in (KEY, OWN, NCBI, "hf_0123456789") if secret in made} == there


def test_it_knows_what_may_be_asked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = replace(
        settings, base_url="https://desk.lab.org", endpoints=(GPU,), ray_addresses=("head:6379",)
    )
    monkeypatch.setattr(os, "environ", environment_of(keys_needed(shared, LAB, sources=False)))
    there = load_settings(settings.workspace)
    assert there.is_shared
    assert there.server_access.key_for(LAB) == KEY
    assert there.server_access.may_ask(GPU)
    assert not there.server_access.may_ask("https://elsewhere/v1")
    there.server_access.refuse_cluster("head:6379")


def test_another_program_gets_none(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERTURBDESK_API_KEY", KEY)
    monkeypatch.setenv(
        "PLAIN_NAME", "a-secret-under-a-plain-name"
    )  # Streamlit puts what the file holds there
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "yes")  # a short value that the file holds too
    monkeypatch.setenv("HF_TOKEN", "hf_0123456789")
    made = bare_environment(settings, keep=("HF_TOKEN",))
    assert {"PERTURBDESK_API_KEY", "PLAIN_NAME"} & set(made) == set()
    assert (made["HF_TOKEN"], made["PERTURBDESK_READ_ONLY"], made["PATH"]) == (
        "hf_0123456789",
        "yes",
        os.environ["PATH"],
    )
    with without_secrets(keep=("HF_TOKEN",)):
        assert "PERTURBDESK_API_KEY" not in os.environ
        assert "HF_TOKEN" in os.environ
    assert os.environ["PERTURBDESK_API_KEY"] == KEY
