"""The page at `/`: a few files that are part of the package, and nothing from anywhere else."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from fastapi import APIRouter, Response

from sparsegate.service.web.problems import NOT_FOUND, Refused

_FILES: Final = (
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
    ("/icon.svg", "icon.svg", "image/svg+xml"),
)


def page_routes(folder: Traversable | None = None) -> APIRouter:
    """A route for each file of the page; they are read once."""
    place = files("sparsegate.service.web").joinpath("page") if folder is None else folder
    router = APIRouter(include_in_schema=False)
    for path, name, kind in _FILES:
        router.add_api_route(path, _Served(place.joinpath(name), kind).get, methods=["GET"])
    return router


class _Served:
    def __init__(self, file: Traversable, kind: str) -> None:
        self._content, self._kind = (file.read_bytes() if file.is_file() else None), kind

    async def get(self) -> Response:
        if self._content is None:
            raise Refused(NOT_FOUND)
        return Response(self._content, headers={"Content-Type": self._kind})
