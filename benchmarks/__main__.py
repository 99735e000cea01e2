"""Run the benchmarks, all or those named: a JSON line for each figure on stdout, a table at the end on stderr."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Result

MODULES = (
    "noise",
    "gate",
    "select",
    "memory",
    "privacy",
    "simulation",
    "reproduction",
    "audit",
    "tables",
    "answers",
    "budget",
    "tune",
    "choice",
    "trees",
    "preview",
    "service",
    "served_start",
    "analysts",
    "database",
    "served_database",
    "history",
)
LIBRARIES = ("sparsegate", "numpy", "opendp", "diffprivlib", "duckdb", "polars", "pyspark")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("module", nargs="*", help=f"any of {', '.join(MODULES)}; all of them unless named")
    parser.add_argument("--list", action="store_true", help="print the modules and stop")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 unless every target is met")
    options = parser.parse_args(arguments)
    if unknown := set(options.module) - set(MODULES):
        parser.error(f"no module {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    if options.list:
        for name in MODULES:
            says = importlib.import_module(f"benchmarks.{name}").__doc__ or ""
            print(f"{name:12}{says.splitlines()[0]}")
        return 0
    start = time.perf_counter()
    results = []
    for name in options.module or MODULES:
        for result in importlib.import_module(f"benchmarks.{name}").results():
            print(result.line(), flush=True)
            results.append(result)
    show(results, time.perf_counter() - start)
    return int(options.strict and any(result.met is False for result in results))


def show(results: list[Result], seconds: float) -> None:
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 170)
    machine = f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}"
    # A module may need no peer: what is not installed was not measured.
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES if find_spec(name))
    load = "load average {:.1f}, {:.1f}, {:.1f}".format(*os.getloadavg())
    table = Table(caption=f"{machine}; {libraries}; {seconds:.0f} s; {load}", caption_justify="left")
    for title in ("figure", "peer", "ours", "peer's", "unit", "ratio", "target", "met"):
        number = title in ("ours", "peer's", "ratio")
        table.add_column(title, justify="right" if number else "left", overflow="fold")
    for result in results:
        target = f"{result.judged} {result.target}" if result.target else ""
        met = {True: "[green]yes", False: "[bold red]NO", None: ""}[result.met]
        numbers = [_number(value) for value in (result.ours, result.peer)]
        peer = result.details.get("peer_name", "")
        table.add_row(result.benchmark, peer, *numbers, result.unit, _number(result.ratio), target, met)
    console.print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main())
