"""What the user names as MODULE:FUNCTION, imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from sparsegate.errors import ParameterError


def imported(target: str, parameter: str = "MODULE:FUNCTION") -> Any:
    """Import package.module:name; the user's own module is looked for where they are, as with python -m."""
    module, _, path = target.partition(":")
    if not module or not path:
        rule = "must have the form package.module:function"
        raise ParameterError(parameter, rule, target, "write for instance mygate:ask")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
    except (Exception, SystemExit) as error:  # an import runs the user's code
        rule = f"must be importable ({type(error).__name__}: {error})"
        raise ParameterError(parameter, rule, target, "check the spelling") from error
    return found
