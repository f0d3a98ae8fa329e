"""The Dockerfile's steps, one after another, and the examples of proxies and of a service, each in use before a real browser.

They run in a copy of this machine (Debian, as the image); no container engine is needed.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError

import pytest
from dockerfile_parse import DockerfileParser
from playwright.sync_api import sync_playwright

from core.base.config import REPOSITORY
from soak.conftest import Record
from soak.machine_copy import MachineCopy, machine_copy, missing_tool
from tests.ui.conftest import WATCH, settle
from tests.ui.serving import CHROMIUM_FLAGS, chromium

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))
DEPLOY = REPOSITORY / "docs" / "deploy"
HOST, PORT = "desk.example.org", 8501
HEALTH = f"http://127.0.0.1:{PORT}/_stcore/health"
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends"


@dataclass
class Image:
    """What a Dockerfile has led to."""

    machine: MachineCopy
    user: str = "root"
    folder: str = "/"
    environment: dict[str, str] = field(default_factory=dict)
    entry: list[str] = field(default_factory=list)
    health: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, command: str) -> str:
        return self.machine.run(
            command, user=self.user, folder=self.folder, environment=self.environment
        )

    def start(self, arguments: str) -> subprocess.Popen[bytes]:
        command = " ".join([*self.entry, arguments])
        return subprocess.Popen(
            self.machine.command(f"exec {command}", self.user, self.folder, self.environment)
        )

    def FROM(self, value: str) -> None:
        """This machine stands for the image's base; its Python may lie in root's home, where no other user looks."""
        assert value.startswith("python:3.")
        self.machine.run("chmod a+x /root")

    def RUN(self, value: str) -> None:
        self.run(value)

    def WORKDIR(self, value: str) -> None:
        self.machine.run(f"mkdir -p {value}")
        self.folder = value

    def COPY(self, value: str) -> None:
        *sources, target = value.split()
        assert target in ("./", "."), value
        files = packed_files() if sources == ["."] else [REPOSITORY / name for name in sources]
        self.machine.copy(files, REPOSITORY, self.folder)

    def USER(self, value: str) -> None:
        self.user = value

    def ENV(self, value: str) -> None:
        name, _, given = value.partition("=")
        self.environment[name] = given

    def ENTRYPOINT(self, value: str) -> None:
        self.entry = json.loads(value)

    def HEALTHCHECK(self, value: str) -> None:
        self.health = value.partition("CMD ")[2]


UNCHANGED = ("COMMENT", "VOLUME", "EXPOSE", "CMD")  # nothing to do in a copy of a machine


def packed_files() -> list[Path]:
    """The files of the checkout that reach the image."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    ignored = set((DEPLOY / "Dockerfile.dockerignore").read_text().splitlines())
    return [
        REPOSITORY / name
        for name in listed.split("\0")
        if name and name.split("/")[0] not in ignored
    ]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """The image that the Dockerfile makes, each instruction carried out in its order."""
    parsed = DockerfileParser(fileobj=(DEPLOY / "Dockerfile").open("rb"))
    with machine_copy(tmp_path_factory.mktemp("machine")) as machine:
        made = Image(machine)
        for step in parsed.structure:
            began = time.monotonic()
            if step["instruction"] not in UNCHANGED:
                getattr(made, step["instruction"])(step["value"])
            made.seconds[f"{step['instruction']} (line {step['startline'] + 1})"] = round(
                time.monotonic() - began, 1
            )
        yield made


@pytest.fixture(scope="module")
def served(image: Image) -> Iterator[Image]:
    """The image's app, with the simulated demo, behind the address of the examples."""
    image.run(f"{image.entry[0]} demo")
    app = image.start(f"serve-app --host 127.0.0.1 --base-url https://{HOST} --read-only")
    try:
        wait_for(HEALTH, app)
        yield image
    finally:
        app.kill()
        app.wait()


def wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        assert process.poll() is None, f"{address}: its server has ended"
        try:
            urllib.request.urlopen(address, timeout=5)
        except (URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{address}: no answer in 30 s")


def test_the_image_serves_as_a_user_who_can_write_to_the_workspace_alone(
    served: Image, record: Record
) -> None:
    record(steps={name: seconds for name, seconds in served.seconds.items() if seconds})
    assert served.user != "root"
    served.run(served.health)
    assert served.run("id -un").strip() == served.user
    assert served.run("find /srv -writable -not -path '/srv/desk*'").strip() == ""
    assert '"runs"' in served.run(f"{served.entry[0]} runs --json")


def test_the_image_makes_a_pdf(served: Image) -> None:
    perturbdesk = served.entry[0]
    [run, *_] = json.loads(served.run(f"{perturbdesk} runs --json"))["runs"]
    served.run(
        f"{perturbdesk} report new demo --runs '{run['name']}' && {perturbdesk} report build demo --out /srv/desk/demo.pdf"
    )
    assert served.run("head -c 5 /srv/desk/demo.pdf") == "%PDF-"


@contextmanager
def proxy(image: Image, command: str) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(image.machine.command(f"exec {command}"))
    try:
        time.sleep(1)
        yield started
    finally:
        started.terminate()
        started.wait(30)


def prepare_nginx(image: Image) -> str:
    """Install nginx with the example and a certificate of its own; returns the command that starts it."""
    place = f"/etc/letsencrypt/live/{HOST}"
    image.machine.run(
        f"apt-get update && {INSTALL} nginx openssl && rm -f /etc/nginx/sites-enabled/default && mkdir -p {place}"
    )
    image.machine.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={HOST} -addext subjectAltName=DNS:{HOST} "
        f"-keyout {place}/privkey.pem -out {place}/fullchain.pem"
    )
    image.machine.copy([DEPLOY / "nginx.conf"], DEPLOY, "/etc/nginx/conf.d")
    image.machine.run(
        "mv /etc/nginx/conf.d/nginx.conf /etc/nginx/conf.d/perturbdesk.conf && nginx -t"
    )
    return "nginx -g 'daemon off;'"


def prepare_caddy(image: Image) -> str:
    """Install Caddy with the example, which signs the certificate itself here; returns the command that starts it."""
    image.machine.run(f"apt-get update && {INSTALL} caddy")
    image.machine.copy([DEPLOY / "Caddyfile"], DEPLOY, "/etc/caddy")
    image.machine.run(
        "printf '{\\n local_certs\\n skip_install_trust\\n}\\n' | cat - /etc/caddy/Caddyfile > /etc/caddy/Local"
    )
    image.machine.run("caddy validate --adapter caddyfile --config /etc/caddy/Local")
    return "caddy run --adapter caddyfile --config /etc/caddy/Local"


@pytest.mark.parametrize("prepare", [prepare_nginx, prepare_caddy])
def test_a_page_is_drawn_through_the_proxy(served: Image, prepare: Callable[[Image], str]) -> None:
    with proxy(served, prepare(served)), sync_playwright() as playwright:
        flags = [*CHROMIUM_FLAGS, f"--host-resolver-rules=MAP {HOST} 127.0.0.1"]
        browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.add_init_script(WATCH)
        page.goto(f"https://{HOST}/rows")
        settle(page)
        assert page.get_by_test_id("stMain").get_by_role("heading").count()
        assert page.evaluate("window.alerts") == []
        too_large = (
            413,
            502,
        )  # Caddy before 2.8 says of a body that it cut off that the app broke the connection
        for path, size, statuses in (
            ("_stcore/upload_file/a/b", 10**6, (403,)),
            ("rows", 10**5, too_large),
        ):
            sent = "([path, size]) => fetch('/' + path, {method: 'PUT', body: 'x'.repeat(size)}).then(answer => answer.status)"
            assert page.evaluate(sent, [path, size]) in statuses
        browser.close()


def test_the_unit_is_one_that_systemd_accepts(image: Image) -> None:
    image.machine.run(f"apt-get update && {INSTALL} systemd")
    image.machine.copy([DEPLOY / "perturbdesk.service"], DEPLOY, "/etc/systemd/system")
    assert (
        image.machine.run(
            "systemd-analyze verify --man=no /etc/systemd/system/perturbdesk.service 2>&1"
        )
        == ""
    )
