"""What is read from the environment and from secrets.toml, and what another process is given of it."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from core.base import config
from core.base.config import SECRET as SECRET_TYPES
from core.base.config import Settings, load_settings, variable_of
from core.base.environment import environment_of
from core.base.errors import InputError
from core.base.net.server_access import KEY_VARIABLE
from tests import commands

SECRET = "sk-0123456789"


@pytest.fixture
def secrets_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's secrets are looked up."""
    file = tmp_path / "secrets.toml"
    monkeypatch.setattr(config, "SECRETS_FILE", file)
    return file


def test_another_process_has_the_environment_with_the_settings_of_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERTURBDESK_CONTACT", "me@example.org")
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-shell")
    given = replace(
        load_settings(tmp_path),
        author="Ada",
        busy_timeout_s=2.5,
        store_memory_mb=64,
        api_key="sk-typed",
    )
    made = environment_of(given)
    assert (made["PERTURBDESK_CONTACT"], made[KEY_VARIABLE]) == ("me@example.org", "sk-typed")
    monkeypatch.setattr(config.os, "environ", made)
    assert load_settings(tmp_path) == given


def test_a_key_that_is_not_given_on_is_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-shell")
    assert environment_of(Settings())[KEY_VARIABLE] == ""


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("PERTURBDESK_STORE_MEMORY_MB", "2GB"),
        ("PERTURBDESK_STORE_MEMORY_MB", "0"),
        ("PERTURBDESK_BUSY_TIMEOUT_S", "abc"),
        ("PERTURBDESK_BUSY_TIMEOUT_S", "inf"),
        ("PERTURBDESK_READ_ONLY", "maybe"),
        ("PERTURBDESK_PRICE_PROMPT", "-1"),
        ("PERTURBDESK_PRICE_COMPLETION", "nan"),
        ("PERTURBDESK_CONTACT", "ä@b"),
    ],
)
def test_a_malformed_value_is_one_line_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    done = commands.core(tmp_path, "runs")
    assert (done.status, done.out) == (1, "")
    [line] = done.err.splitlines()
    assert line.startswith(f"error: {variable}: got {text!r}, expected ")


@pytest.mark.parametrize(
    "text", ["localhost:8000", "http://host:99999/v1", "http://[::", "ftp://host"]
)
def test_a_malformed_address_is_one_line_that_names_its_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINT", text)
    done = commands.core(tmp_path, "runs")
    assert (done.status, done.out) == (1, "")
    [line] = done.err.splitlines()
    assert line.startswith("error: PERTURBDESK_ENDPOINT: ")
    assert line.endswith(f"expected one such as {config.ENDPOINT}")


def test_a_workspace_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("", "utf-8")
    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(file))
    with pytest.raises(InputError, match=r"PERTURBDESK_WORKSPACE: got .*, expected a folder"):
        load_settings()
    with pytest.raises(InputError, match=r"--workspace: got .*, expected a folder"):
        load_settings(file)
    assert load_settings(tmp_path).workspace == tmp_path  # it wins over the variable


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("Yes", True), ("ON", True), ("0", False), ("off", False), ("", False)],
)
def test_yes_and_no_have_many_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, value: bool
) -> None:
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", text)
    assert load_settings(tmp_path).read_only is value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (KEY_VARIABLE, f"{SECRET} {SECRET}\n{SECRET}"),
        ("PERTURBDESK_ENDPOINT", f"http://me:{SECRET}@host/v1"),
    ],
)
def test_a_malformed_secret_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(InputError) as refused:
        load_settings(tmp_path)
    assert variable in str(refused.value)
    assert SECRET not in str(refused.value)


def test_secrets_may_stand_in_a_file(
    secrets_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    secrets_file.write_text(
        f'{KEY_VARIABLE} = "{SECRET}"\nPERTURBDESK_NCBI_API_KEY = "abc"\n[auth]\ncookie = 1\n',
        "utf-8",
    )
    loaded = load_settings(tmp_path)
    assert (loaded.api_key, loaded.ncbi_api_key) == (SECRET, "abc")
    assert SECRET not in repr(loaded)
    handed_on = environment_of(loaded)
    assert (handed_on[KEY_VARIABLE], handed_on["PERTURBDESK_NCBI_API_KEY"]) == (SECRET, "abc")
    monkeypatch.setenv(KEY_VARIABLE, "sk-of-the-shell")
    assert load_settings(tmp_path).api_key == "sk-of-the-shell"
    monkeypatch.setenv(KEY_VARIABLE, "")
    assert load_settings(tmp_path).api_key == ""


@pytest.mark.parametrize(
    "content", [f"{KEY_VARIABLE} = {SECRET}", f'{KEY_VARIABLE} = ["{SECRET}"]']
)
def test_a_malformed_file_of_secrets_is_named_and_not_shown(
    secrets_file: Path, tmp_path: Path, content: str
) -> None:
    secrets_file.write_text(content, "utf-8")
    with pytest.raises(InputError) as refused:
        load_settings(tmp_path)
    assert str(secrets_file) in str(refused.value)
    assert SECRET not in str(refused.value)


def test_the_secret_settings_and_their_variables() -> None:
    secret = [each.name for each in fields(Settings) if each.metadata["type"] in SECRET_TYPES]
    assert secret == ["api_key", "api_keys", "ncbi_api_key"]
    assert variable_of("store_memory_mb") == "PERTURBDESK_STORE_MEMORY_MB"


def test_a_file_of_secrets_with_a_sign_in_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text('PERTURBDESK_API_KEY = "sk-of-the-file"\n[auth]\nclient_id = "x"\n', "utf-8")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    assert not load_settings(tmp_path).sign_in
    monkeypatch.setenv("PERTURBDESK_SECRETS_FILE", str(file))
    found = load_settings(tmp_path)
    assert (found.sign_in, found.api_key, found.secrets_file) == (True, "sk-of-the-file", file)
    monkeypatch.setenv("PERTURBDESK_SIGN_IN", "no")
    assert not load_settings(tmp_path).sign_in


def test_people_are_named_by_their_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_EDITORS", "Ada@Lab.example, bob@lab.example,ada@lab.example")
    monkeypatch.setenv("PERTURBDESK_READERS", "*")
    found = load_settings(tmp_path)
    assert (found.editors, found.readers) == (("ada@lab.example", "bob@lab.example"), ("*",))
    for text in ("Ada", "ada@lab.example bob@lab.example", "@lab.example"):
        monkeypatch.setenv("PERTURBDESK_EDITORS", text)
        with pytest.raises(
            InputError,
            match=r"PERTURBDESK_EDITORS: got .* expected e-mail addresses separated by commas",
        ):
            load_settings(tmp_path)


def test_nothing_is_imported_by_path_where_others_reach_the_app(tmp_path: Path) -> None:
    alone = Settings(workspace=tmp_path)
    assert config.import_folders(alone, "127.0.0.1")
    for shared in (replace(alone, base_url="https://desk.example"), replace(alone, sign_in=True)):
        assert config.import_folders(shared, "127.0.0.1") == ()
    assert config.import_folders(alone, "0.0.0.0") == ()


@pytest.mark.parametrize("value", ['["Ada@lab.org", "bob@lab.org"]', '"ada@lab.org, BOB@lab.org"'])
def test_roles_may_stand_in_the_file_of_secrets(
    secrets_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str
) -> None:
    secrets_file.write_text(f'PERTURBDESK_EDITORS = {value}\nPERTURBDESK_READERS = "*"\n', "utf-8")
    found = load_settings(tmp_path)
    assert (found.editors, found.readers) == (("ada@lab.org", "bob@lab.org"), ("*",))
    monkeypatch.setenv("PERTURBDESK_EDITORS", "eve@lab.org")
    assert load_settings(tmp_path).editors == ("eve@lab.org",)


@pytest.mark.parametrize("value", ["1", '["ada@lab.org", 2]', '["ada"]', '[["ada@lab.org"]]'])
def test_a_role_that_is_no_address_is_named(secrets_file: Path, tmp_path: Path, value: str) -> None:
    secrets_file.write_text(f"PERTURBDESK_EDITORS = {value}\n", "utf-8")
    with pytest.raises(InputError, match=r"PERTURBDESK_EDITORS.*expected"):
        load_settings(tmp_path)


def test_keys_of_single_servers_stand_in_a_table_or_in_the_environment(
    secrets_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PERTURBDESK_API_KEYS", raising=False)
    secrets_file.write_text(
        f'[PERTURBDESK_API_KEYS]\n"https://gpu1.lab.org/v1" = "{SECRET}"\n"https://b/v1" = ""\n',
        "utf-8",
    )
    loaded = load_settings(tmp_path)
    assert loaded.api_keys == (("https://gpu1.lab.org/v1", SECRET), ("https://b/v1", ""))
    assert loaded.server_access.key_for("https://GPU1.lab.org:443/other") == SECRET
    assert SECRET not in repr(loaded) + repr(loaded.server_access)
    monkeypatch.setenv("PERTURBDESK_API_KEYS", f"https://b/v1={SECRET}=  http://c:1/v1=k")
    assert load_settings(tmp_path).api_keys == (
        ("https://b/v1", f"{SECRET}="),
        ("http://c:1/v1", "k"),
    )


@pytest.mark.parametrize(
    "text",
    [SECRET, f"b={SECRET}", f"https://u@b/v1={SECRET}", f"https://b/v1={SECRET} HTTPS://B.:443=k"],
)
def test_keys_of_no_server_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv("PERTURBDESK_API_KEYS", text)
    with pytest.raises(
        InputError,
        match="PERTURBDESK_API_KEYS: got a value that is not shown, expected ADDRESS=KEY",
    ) as refused:
        load_settings(tmp_path)
    assert SECRET not in str(refused.value)


def test_the_list_of_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PERTURBDESK_ENDPOINTS", f"https://a/v1, {tmp_path / 'servers.txt'},")
    monkeypatch.setenv("PERTURBDESK_RAY_ADDRESSES", "head:6379,auto")
    loaded = load_settings(tmp_path)
    assert loaded.endpoints == ("https://a/v1", str(tmp_path / "servers.txt"))
    assert loaded.ray_addresses == ("head:6379", "auto")
    for wrong in ("servers.txt", "https://a/v1,ftp://b", "https://u:p@a/v1"):
        monkeypatch.setenv("PERTURBDESK_ENDPOINTS", wrong)
        with pytest.raises(InputError, match="PERTURBDESK_ENDPOINTS: "):
            load_settings(tmp_path)


def test_all_of_the_file_of_secrets_is_secret_but_what_a_sign_in_tells_everybody(
    secrets_file: Path, tmp_path: Path
) -> None:
    secrets_file.write_text(
        'SOMETHING = "its-value-is-secret"\n[auth]\nredirect_uri = "https://d/oauth2callback"\nclient_id = "perturbdesk"\n'
        'cookie_secret = "a-cookie-secret"\n[auth.google]\nclient_secret = "a-client-secret"\nserver_metadata_url = "https://g"\n'
        '[auth.google.client_kwargs]\nprompt = "select_account"\n',
        "utf-8",
    )
    secrets = load_settings(tmp_path).secrets
    assert {"its-value-is-secret", "a-cookie-secret", "a-client-secret"} <= set(secrets)
    assert not {"perturbdesk", "https://d/oauth2callback", "https://g", "select_account"} & set(
        secrets
    )
