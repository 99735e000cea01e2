"""Run the benchmarks, all or those named: a JSON line for each figure on stdout, a table at the end on stderr.

All of them end within 20 minutes, or --minutes: after that no figure is begun, and the table names what is left out.
The long ones come last; run those by their names, which has no bound. The table has the targets that were missed first,
by how much, and then those that were met.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Result, end_by

MODULES = (
    "noise",
    "gate",
    "select",
    "privacy",
    "memory",
    "database",
    "served_database",
    "history",
    "tune",
    "tables",
    "service",
    "analysts",
    "audit",
    "simulation",
    "reproduction",
    "budget",
    "answers",
    "trees",
    "served_start",
    "preview",
    "choice",
)
MINUTES = 20
LIBRARIES = ("sparsegate", "numpy", "opendp", "diffprivlib", "duckdb", "polars", "pyspark")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("module", nargs="*", help=f"any of {', '.join(MODULES)}; all of them unless named")
    parser.add_argument("--list", action="store_true", help="print the modules and stop")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 unless every target is met")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="for all of them; 20 unless given")
    options = parser.parse_args(arguments)
    if unknown := set(options.module) - set(MODULES):
        parser.error(f"no module {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    if options.list:
        for name in MODULES:
            says = importlib.import_module(f"benchmarks.{name}").__doc__ or ""
            print(f"{name:16}{says.splitlines()[0]}")
        return 0
    start = time.perf_counter()
    results, left_out = measured(options.module, options.minutes)
    show(results, left_out, time.perf_counter() - start)
    return int(options.strict and any(result.met is False for result in results))


def measured(names: Sequence[str], minutes: float) -> tuple[list[Result], list[str]]:
    """The figures of these modules; or all within these minutes, and what there was no time for."""
    until = math.inf if names else time.perf_counter() + 60 * minutes
    end_by(until)
    results, left_out = [], []
    for name in names or MODULES:
        if time.perf_counter() >= until:
            left_out.append(name)
            continue
        for result in importlib.import_module(f"benchmarks.{name}").results():
            print(result.line(), flush=True)
            results.append(result)
            if time.perf_counter() >= until:
                left_out.append(name)
                break
    return results, left_out


def show(results: list[Result], left_out: Sequence[str], seconds: float) -> None:
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 170)
    machine = f"{os.cpu_count()} CPUs, {platform.machine()}, Python {platform.python_version()}"
    # A module may need no peer: what is not installed was not measured.
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES if find_spec(name))
    load = "load average {:.1f}, {:.1f}, {:.1f}".format(*os.getloadavg())
    caption = f"{machine}; {libraries}; {seconds:.0f} s; {load}"
    if left_out:
        caption += f"; no time was left for all of {', '.join(left_out)}: run them by their names"
    table = Table(caption=caption, caption_justify="left")
    for title in ("figure", "peer", "ours", "peer's", "unit", "ratio", "target", "of it"):
        number = title in ("ours", "peer's", "ratio", "of it")
        table.add_column(title, justify="right" if number else "left", overflow="fold")
    for met, title in ((False, "[bold red]missed"), (True, "[green]met"), (None, "reported")):
        chosen = [result for result in results if result.met is met]
        table.add_section()
        table.add_row(f"{title}: {len(chosen)}")
        for result in sorted(chosen, key=lambda result: -(result.beyond or 0)):
            target = f"{result.judged} {result.target}" if result.target else ""
            numbers = [_number(value) for value in (result.ours, result.peer)]
            peer, beyond = result.details.get("peer_name", ""), result.beyond
            times = "" if beyond is None else f"{beyond:.2f} x"
            table.add_row(result.benchmark, peer, *numbers, result.unit, _number(result.ratio), target, times)
    console.print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main())
