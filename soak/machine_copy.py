"""A copy-on-write copy of this machine in which commands run as root or as another user: what they change is gone with it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MOUNT = """mount -t overlay overlay -o lowerdir=/,upperdir={0}/changed,workdir={0}/work {0}/root \
&& mount --rbind /proc {0}/root/proc && mount --rbind /dev {0}/root/dev && mount -t tmpfs none {0}/root/tmp \
&& touch {0}/ready && exec sleep infinity"""


@dataclass(frozen=True)
class MachineCopy:
    """holder: the process whose mounts the copy is; root: where the copy lies, seen from those."""

    holder: subprocess.Popen[bytes]
    root: Path
    changed: Path

    def command(
        self,
        command: str,
        user: str = "root",
        folder: str = "/",
        environment: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The words that run a shell command in the copy."""
        exported = [f"{name}={value}" for name, value in (environment or {}).items()]
        inner = f'cd "{folder}" && {command}'
        return [
            *("nsenter", "--target", str(self.holder.pid), "--mount", "chroot", str(self.root)),
            *(
                "setpriv",
                f"--reuid={user}",
                f"--regid={user}",
                "--init-groups",
                "env",
                f"HOME={_home(user)}",
                *exported,
            ),
            *("sh", "-c", inner),
        ]

    def run(self, command: str, **how: object) -> str:
        """What a shell command prints. Raises RuntimeError with it when it fails."""
        done = subprocess.run(
            self.command(command, **how), capture_output=True, text=True, check=False
        )  # type: ignore[arg-type]
        if done.returncode:
            raise RuntimeError(f"{command}\nexit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def copy(self, files: Sequence[Path], source: Path, target: str) -> None:
        """Copy files below `source` to a folder of the copy, as root's."""
        listed = "\0".join(str(file.relative_to(source)) for file in files)
        packed = subprocess.run(
            ["tar", "--create", "--null", "--owner=0", "--group=0", "-C", str(source), "--files-from=-"],
            input=listed.encode(), capture_output=True, check=True,
        )  # fmt: skip
        subprocess.run(
            self.command(f"mkdir -p {target} && tar --extract -C {target}"),
            input=packed.stdout,
            check=True,
        )


def _home(user: str) -> str:
    return "/root" if user == "root" else f"/home/{user}"


def missing_tool() -> str | None:
    """Why no copy can be made here; None if it can."""
    for tool in ("unshare", "nsenter", "setpriv", "chroot", "apt-get"):
        if shutil.which(tool) is None:
            return f"needs {tool}"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return f"needs to be root: {tried.stderr.decode().strip()}" if tried.returncode else None


@contextmanager
def machine_copy(place: Path) -> Iterator[MachineCopy]:
    """A copy under an empty folder, whose mounts are gone when the block ends, however it ends."""
    for name in ("changed", "work", "root"):
        (place / name).mkdir()
    holder = subprocess.Popen(["unshare", "--mount", "sh", "-c", _MOUNT.format(place)])
    try:
        while not (place / "ready").exists():
            if holder.poll() is not None:
                raise RuntimeError("this machine's files cannot be laid under a copy (overlayfs)")
            time.sleep(0.05)
        yield MachineCopy(holder, place / "root", place / "changed")
    finally:
        holder.kill()
        holder.wait()
