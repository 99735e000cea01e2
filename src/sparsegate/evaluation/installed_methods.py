"""Methods that other packages bring: entry points of the group ``sparsegate.methods``.

A package names them in its pyproject.toml, and whoever installs it runs them by their key, beside ours:

    [project.entry-points."sparsegate.methods"]
    permute-and-flip = "their_package:permute_and_flip"

Nothing of a package is imported before one of its methods is asked for by its key.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from importlib.metadata import Distribution, EntryPoint, entry_points

from sparsegate.errors import ParameterError
from sparsegate.evaluation.supplied_methods import SuppliedMethod

GROUP = "sparsegate.methods"


def installed() -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points by key; more than one where packages disagree."""
    found = defaultdict[str, tuple[EntryPoint, ...]](tuple)
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, package(point))):
        found[point.name] += (point,)
    return dict(found)


def package(point: EntryPoint) -> str:
    """The package that brings it, with its version."""
    return "" if point.dist is None else f"{point.dist.name} {point.dist.version}"


def load_installed(key: str) -> SuppliedMethod | None:
    """The method that a package brings under this key, or None."""
    points = installed().get(key, ())
    if not points:
        return None
    if len(points) > 1:
        rule = f"must be of one package, and {' and '.join(map(package, points))} both have it"
        raise ParameterError("method", rule, key, "uninstall one of them")
    (point,) = points
    try:
        source = point.load()
    except (Exception, SystemExit) as error:  # an import runs somebody else's code
        rule = f"must be importable from {package(point)} ({type(error).__name__}: {error})"
        raise ParameterError(f"method {key}", rule, point.value, "mend the package, or leave the method out") from error
    found = SuppliedMethod.of(source, key=key)
    return found if found.version is not None else SuppliedMethod.of(source, key=key, version=_version(point.dist))


def _version(package: Distribution | None) -> str | None:
    """The version of a package and a hash of its list of files, which has a hash of each.

    None for one whose files may change while it stays installed: see PEP 610.
    """
    listed = None if package is None else package.read_text("RECORD")
    if package is None or not listed or _editable(package.read_text("direct_url.json") or "{}"):
        return None
    return f"{package.name} {package.version} {hashlib.sha256(listed.encode()).hexdigest()[:16]}"


def _editable(origin: str) -> bool:
    try:
        return bool(json.loads(origin).get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):  # not what the standard says, so nothing is known
        return True
