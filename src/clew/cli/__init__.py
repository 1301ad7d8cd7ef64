"""The command line: parse, call, print.

`application.py` holds the table of commands and `main`; each command is one file, imported when it is called, so that
help and version need neither torch nor the command's own code. What a command computes lives in the rooms above.
"""

from clew.cli.application import main

__all__ = ["main"]
