"""The whole exception tree.

::

    SparsegateError           anything this library refuses to do
    ├── ParameterError        a parameter breaks its rule (also a ValueError)
    │   └── ConditionError    a condition on rows is refused, at a place in its text
    ├── GateClosed            a gate was asked after it stopped answering
    ├── BudgetExceeded        a question would cost more epsilon than is left
    ├── TableError            a table lacks what a private count needs
    ├── LedgerError           the record of spent epsilon cannot be trusted or written
    └── ServiceError          a service cannot be reached, or refuses
        ├── OutcomeLost       an ask has no outcome that anybody may see; it counts as an ABOVE
        ├── RequestLost       a release was charged and has no result
        ├── KeyReused         an idempotency key came back with another request
        ├── QuotaExceeded     a token has used what it may be given, or charge
        ├── UnknownGate       there is no gate of that name
        └── GateBusy          too many questions wait at a gate

    SparsegateWarning         done as asked, but what was asked looks like a mistake (a UserWarning, no error)

A refused call spends nothing and changes nothing. A message names the parameter, the rule, the value given
and the next step; it never holds private data, noise or a noisy value.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, ClassVar, Final

_SHOWN: Final = 80
_ABSENT: Final = object()


class SparsegateError(Exception):
    """Anything this library refuses to do; catch it to catch every error below.

    >>> import sparsegate as sg
    >>> try:
    ...     sg.laplace(4021, epsilon=-1, sensitivity=1)
    ... except sg.SparsegateError as error:
    ...     print(type(error).__name__)
    ParameterError
    """

    def __reduce__(self) -> tuple[object, ...]:
        # What was refused is not kept: an error must hold no data, and must pickle whatever the value was.
        return _restore, (type(self), self.args, vars(self))


class SparsegateWarning(UserWarning):
    """What was asked looks like a mistake, told from public values alone: a warning never depends on private data.

    >>> import warnings, sparsegate as sg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", sg.errors.SparsegateWarning)  # refused instead, before anything is charged
    ...     sg.uses.improved(by=0.01, size=100, epsilon=0.1, cutoff=3)
    Traceback (most recent call last):
    sparsegate.errors.SparsegateWarning: an answer is right with 95 % only 1.42 or more from the bar, which is ...
    """


class ParameterError(SparsegateError, ValueError):
    """A parameter breaks its rule.

    `rule` continues the sentence that `parameter` starts: "must be ...". `value` is what the caller passed,
    shown by `repr` and cut to 80 characters; leave it out when it could be private data, because messages end
    up in logs. `next_step` says what to pass instead.

    >>> import sparsegate as sg
    >>> raise sg.ParameterError("epsilon", "must be a positive number", -1, "pass e.g. epsilon=0.5")
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: epsilon must be a positive number, got -1; pass e.g. epsilon=0.5
    """

    parameter: str
    rule: str
    next_step: str

    def __init__(self, parameter: str, rule: str, value: object = _ABSENT, next_step: str = "") -> None:
        got = "" if value is _ABSENT else f", got {_shown(value)}"
        super().__init__(f"{parameter} {rule}{got}" + (f"; {next_step}" if next_step else ""))
        self.parameter, self.rule, self.next_step = parameter, rule, next_step


class ConditionError(ParameterError):
    """A condition that is refused before data is touched; ``start`` and ``end`` are the place in its text, from 0.

    ``near`` names columns that may have been meant. The message holds the caller's own words and names of columns, and
    never anything of the data.

    >>> import sparsegate as sg
    >>> asked = {"item": "page", "user": "visitor", "count": 1, "epsilon": 1, "domain": ["/pay"]}
    >>> try:
    ...     sg.top_items({"visitor": [1, 2], "page": ["/home", "/pay"]}, where="pgae = '/pay'", **asked)
    ... except sg.errors.ConditionError as error:
    ...     print(error, error.start, error.near, sep="\\n")
    where must name a declared column (character 1), got 'pgae'; near it: page
    0
    ('page',)
    """

    start: int
    end: int
    near: tuple[str, ...]

    def __init__(
        self, rule: str, text: str, start: int, end: int, *, next_step: str = "", near: tuple[str, ...] = ()
    ) -> None:
        if near:
            next_step = "; ".join(filter(None, [f"near it: {', '.join(near)}", next_step]))
        super().__init__("where", f"{rule} (character {start + 1})", text[start:end], next_step)
        self.start, self.end, self.near = start, end, near

    def about(self, parameter: str) -> ConditionError:
        """The same error, of an expression that was given as another parameter."""
        self.args = (parameter + str(self).removeprefix(self.parameter),)
        self.parameter = parameter
        return self


class GateClosed(SparsegateError):
    """The gate answers no more: it reached its cutoff, was closed, or belongs to another process.

    >>> import sparsegate as sg
    >>> gate = sg.SparseVector(threshold=1000, cutoff=1, epsilon=0.5, sensitivity=1, monotonic=True)
    >>> gate.close()
    >>> gate.ask(4021)
    Traceback (most recent call last):
    sparsegate.errors.GateClosed: this gate is closed: it was closed by hand; make a new gate to ask on, which ...
    """


class BudgetExceeded(SparsegateError):
    """The question would cost more epsilon than is left; nothing was spent.

    >>> import tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sg.Ledger.create(f"{folder.name}/visits.ledger", dataset="visits", budget=1)
    >>> sg.laplace(4021, epsilon=2, sensitivity=1, ledger=ledger)
    Traceback (most recent call last):
    sparsegate.errors.BudgetExceeded: epsilon 2 is more than the ledger of 'visits' has left: of a budget of ...
    >>> ledger.close()
    >>> folder.cleanup()
    """


class TableError(SparsegateError):
    """The table lacks what a private count needs: a column, a type, a bound on each person's share.

    >>> import sparsegate as sg
    >>> visits = {"visitor": [1, 2], "page": ["/home", "/pay"]}
    >>> sg.top_items(visits, item="site", user="visitor", count=1, epsilon=1, domain=["/pay"])
    Traceback (most recent call last):
    sparsegate.errors.TableError: the table has no column 'site'; did you mean 'visitor'?
    """


class LedgerError(SparsegateError):
    """The record of spent epsilon cannot be read, trusted or written, so nothing may be spent against it.

    >>> import pathlib, tempfile, sparsegate as sg
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "visits.ledger")
    >>> _ = file.write_text("visits: 0.5 spent")
    >>> sg.Ledger(file)
    Traceback (most recent call last):
    sparsegate.errors.LedgerError: the ledger ...visits.ledger is not a ledger: another kind of ...
    >>> folder.cleanup()
    """


class ServiceError(SparsegateError):
    """A service cannot be reached, or refuses: the ``status`` of HTTP, 0 where no answer came, and the ``type``.

    Its ``text`` says what to do; what each type means is in docs/reference/errors.md.

    >>> import sparsegate as sg
    >>> with sg.connect("http://127.0.0.1:9", "sg_" + "x" * 43, retries=0) as service:
    ...     try:
    ...         service.budget()  # no service listens there
    ...     except sg.errors.ServiceError as error:
    ...         print(error, error.status, error.type, sep="\\n")
    the service cannot be reached; check the URL, and that it runs
    0
    unreachable
    """

    text: ClassVar[str] = ""
    status: int = 0
    type: str = "unreachable"

    def __init__(self, text: str = "", *, status: int | None = None, type: str | None = None) -> None:
        super().__init__(text or self.text)
        self.status = self.status if status is None else status
        self.type = type or self.type


class OutcomeLost(ServiceError):
    """The ask has no outcome that anybody may see. One text for every cause: it must not tell ABOVE from BELOW."""

    status, type = 503, "outcome-lost"
    text = (
        "this answer is lost: it counts as an ABOVE for the gate's cutoff, and as whichever costs more for what goes "
        "back; look at the gate, and ask again under a new idempotency key"
    )


class RequestLost(ServiceError):
    """A release that was charged and has no result: another sender waits for it still, or it was cut short."""

    status, type = 503, "request-lost"
    text = (
        "this request was charged before and has no result: it is still under way, or was cut short and stays "
        "spent; send it again under the same idempotency key in a while, and look at the budget before you send it "
        "under a new one"
    )


class KeyReused(ServiceError):
    """An idempotency key came back with another request than the one it was first used for."""

    status, type = 409, "key-reused"
    text = "this idempotency key was used for another request; nothing was spent; send a new key with a new request"


class QuotaExceeded(ServiceError):
    """The token has used what it may be given, or charge, in all; nothing was spent."""

    status, type = 403, "quota-exceeded"


class UnknownGate(ServiceError):
    """There is no gate of that name."""

    status, type = 404, "unknown-gate"
    text = "there is no such gate; list the gates to see their names"


class GateBusy(ServiceError):
    """Too many questions wait for their turn at this gate."""

    status, type = 429, "gate-busy"
    text = "too many questions wait at this gate; nothing was spent; ask again in a while"


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        # Whatever broke there must not hide the rule that was broken here.
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _restore(kind: type[SparsegateError], args: tuple[object, ...], state: dict[str, object]) -> SparsegateError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(state)
    return error


def unknown_key(parameter: str, rule: str, value: object, known: Iterable[str], next_step: str) -> ParameterError:
    """The error of a key that a table lacks, with the nearest that it has."""
    import difflib

    near = difflib.get_close_matches(str(value), list(known), n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return ParameterError(parameter, rule, value, f"{meant}{next_step}")


def load_extra(module: str, *, extra: str) -> Any:
    """Import a module of an optional package, or say how to install what the extra brings."""
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        package = module.partition(".")[0]
        if (missing.name or "").partition(".")[0] != package:
            raise
        raise SparsegateError(f"this needs {package}; run: {install_line(extra)}") from None


def install_line(extra: str) -> str:
    """What installs the packages of an extra, by their own names, as this library declares them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("sparsegate") or []
    except PackageNotFoundError:  # run from its sources, without being installed
        declared = []
    marked = (need.replace('"', "'").partition(";") for need in declared)
    needs = [need.strip() for need, _, marker in marked if f"extra == '{extra}'" in marker]
    return f"pip install {' '.join(map(repr, needs))}" if needs else f"pip install '.[{extra}]', in the checkout"
