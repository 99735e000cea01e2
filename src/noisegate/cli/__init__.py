"""The command line, `noisegate`: one file per sub-command, each of which parses, calls and prints."""

from __future__ import annotations

import sys

from noisegate.errors import NoisegateError


def main() -> None:
    """Run the command line: a refusal is one line and exit code 2, Ctrl-C is silent and exit code 130."""
    try:
        # Here, not above: typer and rich are heavy, and Ctrl-C may come while they load.
        from noisegate.cli.app import app

        app(prog_name="noisegate")
    except NoisegateError as error:
        sys.stderr.write(f"noisegate: {' '.join(str(error).split())}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
