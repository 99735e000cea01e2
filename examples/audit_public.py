"""The hall of audits: public implementations of private selection, each from its package, audited as a black box.

    python examples/audit_public.py --install                    every entry, each package in an environment of its own
    python examples/audit_public.py --install --package nvflare  one package
    python examples/audit_public.py --install --entry KEY        one entry
    python examples/audit_public.py --install --store            store the results, and draw the picture
    python examples/audit_public.py --markdown                   the table of docs/explanation/hall.md, as stored

Environments are made in a cache folder (``--cache``); nothing is installed into the one that runs this. Each entry is
audited at 99 % confidence, with seeds 1, 2 and 3 of the search; the bound that counts is the least of the three.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # so that it runs by its path, too

from examples.hall.entries import ENTRIES, Entry  # noqa: E402
from examples.hall.environments import CACHE, Unavailable, Worker, interpreter  # noqa: E402

import sparsegate as sg  # noqa: E402
from sparsegate.auditor import audit  # noqa: E402
from sparsegate.display.plain import plain  # noqa: E402
from sparsegate.errors import ParameterError  # noqa: E402

RESULTS = Path(__file__).parent / "hall" / "results.json"
PICTURE = ROOT / "docs" / "pictures" / "hall.png"
SEEDS = (1, 2, 3)
CONFIDENCE = 0.99
HEADINGS = ("Package", "What", "Claims", "Certified ≥", "Exact", "Exact from", "Verdict", "Replay", "Runs", "`--entry`")

Result = dict[str, Any]


def audit_entry(entry: Entry, python: Path, *, seeds: tuple[int, ...] = SEEDS, folder: Path | None = None) -> Result:
    """Audit one entry with each seed, as data that JSON takes."""
    audits = []
    with Worker(python, entry.adapter, entry.settings, **({"folder": folder} if folder else {})) as worker:
        for seed in seeds:
            options = {"confidence": CONFIDENCE, "stop_at_violation": False, "call_timeout": 300.0, **entry.options}
            # A method hides nothing, but an object's own name is that of its class: batch= says what it is.
            options[entry.claims] = worker.claim
            verdict = audit(worker, batch=True, seed=seed, **options)
            proved = verdict.epsilon_lower if entry.claims == "epsilon" else float(verdict.renyi_lower or 0)
            audits.append({"seed": seed, "bound": proved, "runs": verdict.samples})
            witness = verdict.witness
    exact = entry.exact() if entry.exact else None
    findings = None
    if entry.replayed is not None:
        # As few runs as an audit takes: what the tapes show is the point of it.
        tapes = audit(entry.replayed, epsilon=worker.claim, queries=10, samples=1000, replay=sg.Seeded, seed=1).replay
        findings = None if tapes is None else list(tapes.findings)
    return {
        "key": entry.key,
        "package": entry.package,
        "version": entry.version,
        "title": entry.title,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "claim": worker.claim,
        "claims": entry.claims,
        "confidence": CONFIDENCE,
        "audits": audits,
        "violates": all(made["bound"] > worker.claim for made in audits),
        "exact": "inf" if exact == math.inf else exact,
        "exact_from": entry.exact_from,
        "command": entry.command,
        "replay": findings,
        "witness": {
            "answers": plain(witness.answers),
            "neighbour": plain(witness.neighbour),
            "event": witness.event,
            "runs": [witness.counts.trials1, witness.counts.trials2],
            "hits": [witness.counts.hits1, witness.counts.hits2],
        },
    }


def bound(result: Result) -> float:
    """The least bound of its audits: true where any one of them is."""
    return float(min(made["bound"] for made in result["audits"]))


def table(results: list[Result]) -> str:
    """A Markdown table, one line for each result."""

    def line(cells: tuple[str, ...]) -> str:
        return f"| {' | '.join(cells)} |"

    def cells(result: Result) -> tuple[str, ...]:
        exact = result["exact"]
        return (
            f"{result['package']} {result['version']}",
            result["title"],
            f"{'ρ = ' if result.get('claims') == 'rho' else ''}{result['claim']:.4g}",
            f"{bound(result):.3f}",
            "" if exact is None else "∞" if exact == "inf" else f"{exact:.4g}",
            result["exact_from"],
            "**violates**" if result["violates"] else "none found",
            "" if result["replay"] is None else "; ".join(result["replay"]) or "no finding",
            f"{sum(made['runs'] for made in result['audits']):,}",
            f"`{result['key']}`",
        )

    return "\n".join([line(HEADINGS), line(("---",) * len(HEADINGS)), *map(line, map(cells, results))])


def draw(path: Path, results: list[Result]) -> None:
    """Claimed, certified and exact epsilon of each entry, on a logarithmic axis; no limit is an arrow."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 1.6 + 0.5 * len(results)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    known = [value for made in results for value in (made["claim"], bound(made)) if value > 0]
    edge = 2.2 * max(known)
    for height, result in enumerate(reversed(results)):
        claim, proved, exact = result["claim"], bound(result), result["exact"]
        colour = "#B2182B" if result["violates"] else "#1B7837"
        axes.plot([claim] * 2, [height - 0.32, height + 0.32], color="black", linewidth=2)
        axes.plot([0.1, proved], [height] * 2, color=colour, linewidth=7, alpha=0.55, solid_capstyle="butt")
        if exact == "inf":
            axes.annotate("", (edge, height), (proved, height), arrowprops={"arrowstyle": "->", "color": "#2166AC"})
            axes.text(edge, height + 0.14, "no limit", ha="right", va="bottom", fontsize=9, color="#2166AC")
        elif exact is not None:
            axes.plot(exact, height, "D", color="#2166AC", markersize=6, markerfacecolor="white", markeredgewidth=1.6)
    axes.set_yticks(
        range(len(results)),
        [f"{made['package']} {made['version']}\n{made['title']}" for made in reversed(results)],
        fontsize=9,
    )
    axes.set_xscale("log")
    axes.set_xlim(0.1, 1.08 * edge)
    marks = [mark for mark in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if mark <= edge]
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.minorticks_off()
    axes.set_xlabel("ε (logarithmic)")
    axes.plot([], [], color="black", linewidth=2, label="claimed")
    axes.plot([], [], color="#1B7837", linewidth=7, alpha=0.55, label="certified at 99 %, within the claim")
    axes.plot([], [], color="#B2182B", linewidth=7, alpha=0.55, label="certified at 99 %, beyond the claim")
    axes.plot([], [], "D", color="#2166AC", markerfacecolor="white", markeredgewidth=1.6, label="exact")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    figure.savefig(path, dpi=130)


def stored() -> list[Result]:
    """The results of the last run that was stored."""
    found: list[Result] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def merged(new: list[Result]) -> list[Result]:
    """What is stored, with the new in its place, in the order of the entries."""
    by_key = {made["key"]: made for made in [*(stored() if RESULTS.exists() else []), *new]}
    return [by_key[entry.key] for entry in ENTRIES if entry.key in by_key]


def run(entries: list[Entry], *, install: bool, cache: Path) -> list[Result]:
    """Audit them one after another; one that cannot be had is said and left out."""
    made = []
    for number, entry in enumerate(entries, 1):
        print(f"[{number}/{len(entries)}] {entry.package} {entry.version}: {entry.title}", end=" ... ", flush=True)
        try:
            python = interpreter(entry.package, entry.version, install=install, cache=cache, beside=entry.beside)
            result = audit_entry(entry, python)
        except (Unavailable, ParameterError) as reason:  # the latter names what broke during an audit
            print(reason, flush=True)
            continue
        verdict = "violates" if result["violates"] else "no violation found"
        print(f"claims {result['claim']:g}, certified {bound(result):.4g}: {verdict}", flush=True)
        made.append(result)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    packages = sorted({entry.package for entry in ENTRIES})
    parser.add_argument("--package", choices=packages, help="audit this one only")
    parser.add_argument("--entry", choices=[entry.key for entry in ENTRIES], help="audit this entry only")
    parser.add_argument("--install", action="store_true", help="make the environments that are not there yet")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where environments are kept (%(default)s)")
    parser.add_argument("--store", action="store_true", help="store the results and draw the picture")
    parser.add_argument("--markdown", action="store_true", help="audit nothing: print the table of what is stored")
    chosen = parser.parse_args()
    if chosen.markdown:
        print(table(stored()))
        return
    entries = [e for e in ENTRIES if chosen.package in {None, e.package} and chosen.entry in {None, e.key}]
    made = run(entries, install=chosen.install, cache=chosen.cache)
    print(f"\n{table(made)}")
    if chosen.store:
        everything = merged(made)
        RESULTS.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        draw(PICTURE, everything)


if __name__ == "__main__":
    main()
