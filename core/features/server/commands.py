"""The command that serves the app to others: serve-app."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Annotated
from urllib.parse import urlsplit

import typer

from core.base import log
from core.base.config import CALLBACK, EXAMPLE, REPOSITORY, Settings, reaches_others, read_base_url
from core.base.errors import InputError, MissingPackage
from core.base.net.server_access import redirect_uri

app = typer.Typer()


@app.command("serve-app")
def serve_app(
    context: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on: 127.0.0.1 behind a proxy on this machine, or another."
        ),
    ],
    base_url: Annotated[
        str, typer.Option(help=f"The app's public address, such as {EXAMPLE}; links begin with it.")
    ],
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8501,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    without_sign_in: Annotated[
        bool,
        typer.Option(
            "--without-sign-in",
            help="Let everybody in with all permissions; use a proxy to restrict access.",
        ),
    ] = False,
) -> None:
    """Serve the app to others, with sign-in or for reading only."""
    settings: Settings = context.obj.settings
    base_url = read_base_url(base_url)
    if settings.sign_in:
        if find_spec("authlib") is None:
            raise MissingPackage(
                "serve-app: a sign-in needs the package Authlib; install requirements-share.txt"
            )
        if not (settings.editors or settings.readers):
            raise InputError(
                "serve-app: nobody could sign in; name people in PERTURBDESK_EDITORS or"
                " PERTURBDESK_READERS"
            )
        found, expected = redirect_uri(settings.secrets_file), f"{base_url}/{CALLBACK}"
        if found != expected:
            raise InputError(
                f"{settings.secrets_file}: redirect_uri in [auth] is {found!r}, expected"
                f" {expected!r}"
            )
    elif not (
        read_only or settings.read_only or without_sign_in or not reaches_others(host, base_url)
    ):
        raise InputError(
            f"serve-app: everybody who reaches {base_url} could change this workspace. Add a"
            f" sign-in ([auth] in {settings.secrets_file}), or use --read-only, or"
            " --without-sign-in if a proxy restricts access"
        )
    os.environ["PERTURBDESK_WORKSPACE"] = str(settings.workspace)
    os.environ["PERTURBDESK_BASE_URL"] = base_url
    if read_only:
        os.environ["PERTURBDESK_READ_ONLY"] = "yes"
    log.close()
    os.chdir(REPOSITORY)  # where .streamlit/config.toml is
    os.execv(
        sys.executable, [sys.executable, "-m", "core.ui.start", *_options(host, port, base_url)]
    )


def _options(host: str, port: int, base_url: str) -> list[str]:
    """Return Streamlit's options for a server that is reached at an address."""
    parts = urlsplit(base_url)
    name = parts.hostname or ""
    options = {
        "server.address": host,
        "server.port": str(port),
        "server.baseUrlPath": parts.path.strip("/"),
        "browser.serverAddress": name,
        "browser.serverPort": str(parts.port or (443 if parts.scheme == "https" else 80)),
    }
    allowed = dict.fromkeys((name, "localhost", "127.0.0.1"))
    return [
        *(word for option, value in options.items() for word in (f"--{option}", value)),
        *(word for each in allowed for word in ("--server.allowedHosts", each)),
    ]
