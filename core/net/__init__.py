"""How anything here talks to a server: transport, retries, rate limits, response caches; and local servers for tests."""
