"""A service around a small table: a new one, or one for requests that change nothing."""

from __future__ import annotations

import pytest
from tests.support.browsing import browsing
from tests.support.serving import serving, visits


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    with visits(tmp_path_factory.mktemp("data")) as data:
        yield data


@pytest.fixture
def service(tmp_path, data):
    with serving(tmp_path, data) as service:
        yield service


@pytest.fixture(scope="module")
def standing(tmp_path_factory, data):
    """For requests that change nothing."""
    with serving(tmp_path_factory.mktemp("standing"), data) as service:
        yield service


@pytest.fixture(scope="module")
def browser():
    """Chromium, for the tests of the page."""
    with browsing() as launched:
        yield launched
