"""`python -m core COMMAND`."""

from core.cli import main

main()
