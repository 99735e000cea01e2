"""The files of the page over HTTP: those of its folder, all of them and no other."""

from __future__ import annotations

import re

from fastapi import FastAPI

from sparsegate.service.web.http import page_routes

KINDS = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "gates.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


def test_the_page_is_the_files_of_its_folder_that_a_page_is_made_of_and_no_other(tmp_path, service):
    for name in (*KINDS, "secret.txt", "keys"):
        (tmp_path / name).write_text(name)
    versions = []
    for title in ("one", "two"):
        (tmp_path / "index.html").write_text(f'<title>{title}</title><link href="/page.css"><a href="#/gates">')
        service.app = FastAPI(docs_url=None)
        service.app.include_router(page_routes(tmp_path))
        first = service.send("GET", "/", token=None)
        assert first.headers["content-type"] == "text/html; charset=utf-8"
        assert "cache-control" not in first.headers
        (version,) = re.findall(r'href="/([0-9a-f]{16})/page.css"', first.text)
        assert 'href="#/gates"' in first.text
        for name, kind in KINDS.items():
            got = service.send("GET", f"/{version}/{name}", token=None)
            assert (got.text, got.headers["content-type"]) == (name, kind)
            assert "immutable" in got.headers["cache-control"]
        secret = ("/secret.txt", f"/{version}/secret.txt", f"/{version}/keys", f"/{version}/../secret.txt")
        for path in (*secret, "/page.css", "/index.html", f"/{version}/index.html"):
            assert service.send("GET", path, token=None).status_code == 404, path
        versions.append(version)
    assert versions[0] != versions[1], "a browser would keep the old page"


def test_the_page_and_its_modules_ask_for_nothing_that_the_service_does_not_have(standing):
    wanted, seen = {"/"}, set()
    while wanted:
        path = wanted.pop()
        seen.add(path)
        got = standing.send("GET", path, token=None)
        assert got.status_code == 200, path
        assert got.headers["cache-control"] == ("no-cache" if path == "/" else "public, max-age=31536000, immutable")
        beside = {f"{path.rpartition('/')[0]}/{name}" for name in re.findall(r'from "[.]/([^"]+)"', got.text)}
        wanted |= ({*re.findall(r'(?:href|src)="([^"#]+)"', got.text)} if path == "/" else beside) - seen
    assert len(seen) > 10
