"""A private top-c that is served: charged under the request's key, drawn, stored, and only then answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from sparsegate.budget import Number
from sparsegate.ledger.account import exact_amount
from sparsegate.service.data.served import CountedTable
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import KeyedRequest

TOP: Final = "/v1/top"


class _Given(Exception):
    """Another sender of the same request was first: this is its response."""

    def __init__(self, response: str) -> None:
        super().__init__()
        self.response = response


def release_top(store: GateStore, dataset: CountedTable, request: KeyedRequest, question: Mapping[str, Any]) -> str:
    """Charge, draw, store; or, where the same request was charged in the meantime, what that one gave."""
    from sparsegate.tables.top import top_items

    paid = _OneRequest(store, request)
    try:
        found = top_items(dataset.relation(), **dataset.unit_options, ledger=paid, **question)
    except _Given as given:
        return given.response
    gave = found.published()
    store.finish(request, TOP, response := json.dumps(gave), {"release": "top_items", **gave})
    return response


@dataclass(frozen=True)
class _OneRequest:
    """The ledger as a release sees it: the charge and the note of the request are one transaction."""

    store: GateStore
    request: KeyedRequest

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str) -> None:
        if (stored := self.store.begin(self.request, TOP, exact_amount(epsilon, delta), what)) is not None:
            raise _Given(stored)

    def keep(self, entry: object, gave: object) -> None:
        """What is answered is stored with the request, by ``finish``."""
