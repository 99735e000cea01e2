"""The nginx of deploy/, with its paths and ports in a folder; and a stand-in for oauth2-proxy."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_OPENSSL = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=gates.example.org"


def nginx_files(folder: Path, site: Path, *, port: int, ports: dict[str, int] | None = None) -> Path:
    """Write what nginx needs: a certificate, an empty map of tokens, the site, and the settings around it."""
    cert, key = folder / "gates.pem", folder / "gates.key"
    subprocess.run([*_OPENSSL.split(), "-keyout", key, "-out", cert], check=True, capture_output=True)
    (folder / "tokens.map").touch()
    text = site.read_text(encoding="utf-8")
    changes = {
        "/etc/sparsegate/tls": str(folder),
        "/etc/sparsegate": str(folder),
        "/var/log/nginx": str(folder),
        "listen 443": f"listen 127.0.0.1:{port or free_port()}",
        "listen 80": f"listen 127.0.0.1:{free_port()}",
        **{f"127.0.0.1:{old}": f"127.0.0.1:{new}" for old, new in (ports or {}).items()},
    }
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    user = "user root;" if os.geteuid() == 0 else ""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "main.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {places} include {folder}/site.conf; }}\n"
    )
    return folder / "main.conf"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def proxied(settings: Path, port: int) -> Iterator[None]:
    """nginx, as soon as it listens."""
    said = settings.parent / "stderr"
    with said.open("w") as stderr:
        process = subprocess.Popen(["nginx", "-c", settings, "-p", settings.parent], stderr=stderr)
    try:
        deadline = time.monotonic() + 10
        while True:
            assert process.poll() is None, said.read_text()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(10)


class _SignIn(BaseHTTPRequestHandler):
    """Whoever has a cookie that names somebody is signed in as them."""

    def do_GET(self) -> None:
        who = self.headers.get("Cookie", "").removeprefix("who=")
        self.send_response(202 if who else 401)
        if who:
            self.send_header("X-Auth-Request-Email", who)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def sign_in() -> Iterator[int]:
    """A stand-in for oauth2-proxy: its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _SignIn) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
