"""`python -m agentsim` is the command `agentsim`."""

from agentsim.cli import main

main()
