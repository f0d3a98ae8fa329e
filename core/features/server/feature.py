"""What the feature server brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "server",
    "The app for others: sign-in, roles, limits; and the state of the workspace.",
    commands={
        "serve-app": Command(
            "core.features.server.commands:app", "Serve the app to others.", "Operate"
        ),
        "doctor": Command(
            "core.features.server.doctor:app",
            "Show versions, the store, servers and last errors.",
            "Operate",
        ),
    },
)
