"""Examples are judged by their answers, not by how long a busy machine took over them."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
