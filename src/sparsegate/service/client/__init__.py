"""Clients of a service, sync and async."""

from sparsegate.errors import load_extra

# Here, so that whoever asks for a client without it is told what to install.
load_extra("httpx", extra="serve")
