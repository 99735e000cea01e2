"""Clients of a service, sync and async."""

from sparsegate.errors import load_extra

# Loaded here, so that whoever lacks httpx is told what to install.
load_extra("httpx", extra="serve")

from sparsegate.service.client.client import connect, connect_async  # noqa: E402

__all__ = ["connect", "connect_async"]
