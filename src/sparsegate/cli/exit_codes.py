"""What an exit code of `sparsegate` means, and what it reads of the environment: for the manual and the site."""

from __future__ import annotations

from typing import Final

EXIT_CODES: Final = {
    "0": "What was asked is done.",
    "1": (
        "It is done, and what was checked does not hold: `audit` proved a leak, `theorems` measured another verdict "
        "than the documented one, a self-check of `reproduce` is not met. Also: whoever read standard output left "
        "before its end."
    ),
    "2": "It was refused: an option, a file, a ledger or the budget. One line on standard error says what to do.",
    "130": "Ctrl-C. One line on standard error says what was spent, where something can be.",
    "143, 129": "SIGTERM, SIGHUP: ended by the signal, after what was open was closed.",
}

ENVIRONMENT: Final = {
    "SPARSEGATE_SERVE_NAME": (
        "The option NAME of `sparsegate serve`, such as SPARSEGATE_SERVE_PORT=8460. An option on the command line "
        "comes first. A password in the URL of a database belongs here and not there."
    ),
    "SPARSEGATE_WEBHOOK": "`--webhook` of `sparsegate watch`.",
    "NO_COLOR": "If it is not empty: no colours.",
    "COLUMNS": "How wide tables and the help are; else as wide as the terminal, and 80 where there is none.",
}
