"""Options of `sparsegate serve` for whoever runs it, and where options come from besides the command line.

Command line, then environment (SPARSEGATE_SERVE_PORT), then a file in TOML (``port = 8460``), then the default. A name
that is no option is an error, in both: a limit that was mistyped is a limit that is not there. A password in the URL of
a database belongs in the environment, because everybody on the machine sees the command line.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from sparsegate.errors import ParameterError

PREFIX: Final = "SPARSEGATE_SERVE"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)


class ServeCommand(TyperCommand):
    """A command with its options from a file and from the environment too."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["context_settings"] = {**(options.get("context_settings") or {}), "auto_envvar_prefix": PREFIX}
        super().__init__(*args, **options)
        for parameter in self.params:
            parameter.show_envvar = False  # type: ignore[attr-defined]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse names of the environment that mean nothing."""
        known = {f"{PREFIX}_{parameter.name.upper()}" for parameter in self.params if parameter.name}
        if unknown := sorted(name for name in os.environ if name.startswith(f"{PREFIX}_") and name not in known):
            raise ParameterError(
                "environment", "must name options of serve", ", ".join(unknown), "see `sparsegate serve --help`"
            )
        return super().parse_args(ctx, args)


def _read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """The file becomes the defaults of all other options."""
    if path is not None:
        several = {"files", "allowed_host", "trusted_proxy", "read"}
        names = {str(parameter.name) for parameter in ctx.command.params} - {"config"}
        ctx.default_map = dict(_settings(path, names, several))
    return path


def _settings(path: Path, names: set[str], several: set[str]) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError("config", "must be a file in UTF-8 that can be read", str(path)) from None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError("config", f"must be TOML ({error})", str(path)) from None
    for key, value in found.items():
        name = key.replace("-", "_")
        if name not in names:
            raise ParameterError("config", "must name options of serve", key, "see `sparsegate serve --help`")
        if isinstance(value, str | int | float | list) and isinstance(value, list) <= (name in several):
            yield name, [value] if name in several and not isinstance(value, list) else value
        else:
            rule = f"must give {key} one text, number or truth value{', or a list' if name in several else ''}"
            raise ParameterError("config", rule, next_step=f"see {path}")


def _names_alone(given: list[str] | None) -> list[str] | None:
    for name in given or []:
        if not _NAME.fullmatch(name):
            rule = "must be a name alone, without https://, a port or a path"
            raise ParameterError("allowed_host", rule, name, "for instance gates.example.org; addresses need none")
    return given


Config = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", callback=_read_config, is_eager=True, help="Options from a TOML file, by their names here."
    ),
]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", callback=_names_alone, help="A name it is reached by, as a browser shows it; may be repeated."
    ),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ADDRESS", help="A proxy, or a network of them, whose X-Forwarded-For is believed; may be repeated."
    ),
]
TlsCert = Annotated[Path | None, typer.Option(metavar="FILE", help="Serve https: the certificate and its chain, PEM.")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's key, PEM.")]
MaxConnections = Annotated[int, typer.Option(min=1, metavar="N", help="Connections at once, in all.")]
MaxConnectionsOfOne = Annotated[
    int, typer.Option(min=1, metavar="N", help="Of one address; a trusted proxy may open all.")
]
MetricsPort = Annotated[
    int | None, typer.Option(metavar="PORT", help="/metrics without a token there, for this machine alone.")
]
LogFormat = Annotated[str, typer.Option(metavar="text|json", help="How lines of the log are written.")]
NEW_DELTA: Final = 1e-6
"""The delta in all of a ledger that `serve` makes, unless told otherwise: for a thousand datasets and their sizes."""
ServeDelta = Annotated[
    float | None,
    typer.Option("--budget-delta", help=f"The ledger's delta in all; {NEW_DELTA:g} for a new ledger unless given."),
]
SizeEpsilon = Annotated[
    float, typer.Option("--size-epsilon", help="What it costs to show the sizes of the data, once for each dataset.")
]
SizeDelta = Annotated[float, typer.Option("--size-delta", help="Its delta; --capacity needs none.")]
PersonRows = Annotated[
    int, typer.Option(metavar="N", min=1, help="Shown sizes protect people of up to N rows for that, others for more.")
]
Capacity = Annotated[
    str | None,
    typer.Option(metavar="N[,COLUMN=N...]", help="Public sizes to fill up to: rows, and values of columns; free."),
]
