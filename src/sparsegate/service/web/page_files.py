"""The files of the page, as routes.

A page is many small files. So all but the first have an address that changes with their content, and a browser keeps
them for good; and they are outside the limit on requests without a token, which many people may share an address for.
"""

from __future__ import annotations

import hashlib
from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from typing import Final

from fastapi import APIRouter, Response
from fastapi.routing import APIRoute

_FIRST: Final = "index.html"
_KEPT: Final = "public, max-age=31536000, immutable"
_KINDS: Final = MappingProxyType(
    {
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml",
    }
)


def page_routes(folder: Traversable | None = None) -> APIRouter:
    """A route for each file of the page; they are read once, and nothing else is served."""
    place = files("sparsegate.service.web").joinpath("page") if folder is None else folder
    contents = {file.name: file.read_bytes() for file in place.iterdir() if _ending(file.name) in _KINDS}
    version = hashlib.sha256(repr(sorted(contents.items())).encode()).hexdigest()[:16]
    # The first file names two or three others from the root; those find the rest beside them.
    contents[_FIRST] = contents[_FIRST].replace(b'="/', f'="/{version}/'.encode())
    router = APIRouter(include_in_schema=False)
    for name, content in contents.items():
        headers = {"Content-Type": _KINDS[_ending(name)]}
        if name == _FIRST:
            path = "/"
        else:
            path, headers["Cache-Control"] = f"/{version}/{name}", _KEPT
        router.add_api_route(path, partial(_file, content, headers), methods=["GET"])
    return router


def page_paths(routes: APIRouter) -> frozenset[str]:
    """The addresses of these files."""
    return frozenset(route.path for route in routes.routes if isinstance(route, APIRoute))


def _ending(name: str) -> str:
    return name.rpartition(".")[2]


async def _file(content: bytes, headers: dict[str, str]) -> Response:
    return Response(content, headers=headers)
