"""Optional packages, loaded when they are needed and not before."""

from __future__ import annotations

import importlib
from typing import Any

from sparsegate.errors import SparsegateError


def load_extra(module: str, *, extra: str) -> Any:
    """Import a module of an optional package, or say which extra brings it.

    >>> load_extra("no_such_package", extra="evaluation")
    Traceback (most recent call last):
    sparsegate.errors.SparsegateError: this needs no_such_package; run: pip install 'sparsegate[evaluation]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = module.partition(".")[0]
        if (missing.name or "").partition(".")[0] != package:
            raise
        raise SparsegateError(f"this needs {package}; run: pip install 'sparsegate[{extra}]'") from None
