"""What a tab does that it should not do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page

    from tests.ui.serving import Server


@dataclass
class Watch:
    """What a tab did that it should not have done."""

    outside: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def over(self, page: Page, server: Server) -> None:
        def requested(request: Any) -> None:
            if not request.url.startswith((server.address, "data:", "blob:")):
                self.outside.append(request.url)

        def asked(dialog: Any) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        page.on("request", requested)
        page.on("dialog", asked)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message: ConsoleMessage) -> None:
        """Streamlit looks for its own endpoints below a page's path first and is told 404: that is how it finds them."""
        probe = "/_stcore/" in message.location.get("url", "") and "404" in message.text
        if message.type == "error" and not probe:
            self.errors.append(message.text)
