"""Check every proof of this folder with Coq: ``python3 proofs/check.py``, or ``make proofs``.

Five things are checked, and nothing is installed: Coq accepts every file; no exported theorem rests on more than the
classical axioms of mathcomp; the README lists just the theorems that the files export; no file uses a command by which
a theorem could be read here and another, or none, be proved; no name is defined in two files. A proof that was left out
(``Admitted``) is an axiom to Coq, so it is found with the others. What no program can check is whether a statement says
what is wanted: its section's hypotheses are part of it. ``summary.v`` has the central ones without sections.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("coq", "libcoq-mathcomp-analysis")
"""What Debian and Ubuntu call Coq and the library with discrete distributions."""

COQ = "8.16.1"
LIBRARIES = {
    "mathcomp 1.15.0": (("ssreflect", "algebra"), "4d39f57309ddd351"),
    "mathcomp-analysis 0.6.0": (("classical", "analysis"), "b54980d14741e3c6"),
}
"""The versions that the proofs are written for, those of Debian 12. Later ones rename lemmas and change tactics. A
library does not tell its version: it is known by the beginning of the SHA-256 of its sources."""

CLASSICAL = {
    "mathcomp.classical.boolp.propositional_extensionality",
    "mathcomp.classical.boolp.functional_extensionality_dep",
    "mathcomp.classical.boolp.constructive_indefinite_description",
}
"""The axioms of mathcomp's classical logic, and the only ones allowed; in full, since a file could be called boolp."""

FORBIDDEN = {
    r"Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Primitive": "leaves something unproved",
    r"bypass_check|(?:Unset|Set)\s+(?:Guard|Positivity|Universe)\s+Checking|Declare\s+ML": "turns checks of Coq off",
    r"Module(?!\s+\w+\s*:=)|Fail|Abort(?=\s*\.)|Reset|Undo|Back|Restart|Redirect": (
        "lets the name of a theorem mean another one"
    ),
    r"Corollary|Proposition|Fact|Remark|Property|(?:Local|Global|Polymorphic|Program)\s+Theorem": (
        "is neither a Theorem, which is listed, nor a Lemma"
    ),
}
"""What no proof needs, and why it is refused; a short name for a file, ``Module G := ledger_gates``, may be given."""

INDENTED = r"^[^\n]+\bTheorem\s+([\w']+)"
"""A theorem that :func:`exported` does not see."""


DEFINED = r"^\s*(?:Local\s+)?(?:Theorem|Lemma|Definition|Fixpoint|Record|Inductive|Canonical)\s+([\w']+)"
FIELDS = r"^Record\b[^{]*\{([^}]*)\}"
"""What gives a name a meaning: a command, at the start of its line or after another, and a field of a record."""


class Exported(NamedTuple):
    """A theorem, and the file that proves it."""

    file: str
    name: str


def exported(folder: Path = FOLDER) -> list[Exported]:
    """What the files export: everything called ``Theorem``."""
    return [
        Exported(file.name, name)
        for file in sorted(folder.glob("*.v"))
        for name in re.findall(r"^Theorem\s+([\w']+)", without_comments(file.read_text(encoding="utf-8")), re.MULTILINE)
    ]


def without_comments(source: str) -> str:
    """The source without its comments, which Coq nests."""
    depth, kept = 0, []
    for piece in re.split(r"(\(\*|\*\))", source):
        if piece == "(*":
            depth += 1
        elif piece == "*)":
            depth -= 1
        elif not depth:
            kept.append(piece)
    return "".join(kept)


def refused(folder: Path = FOLDER) -> list[str]:
    """Commands that could smuggle a theorem past this check, a line each."""
    wrong = []
    for file in sorted(folder.rglob("*.v")):
        source = without_comments(file.read_text(encoding="utf-8"))
        name = file.relative_to(folder)
        if file.parent != folder:
            wrong.append(f"{name}: is not built, being in a folder of its own")
        for words, why in FORBIDDEN.items():
            wrong += [
                f"{name}: {' '.join(word.split())} {why}" for word in re.findall(rf"(?<![\w.'])(?:{words})\b", source)
            ]
        wrong += [f"{name}: {word} has to start its line" for word in re.findall(INDENTED, source, re.MULTILINE)]
    return wrong


def doubled(folder: Path = FOLDER) -> list[str]:
    """Names that two files define, a line each: a reader of both would take them for one."""
    files: dict[str, set[str]] = {}
    for file in sorted(folder.glob("*.v")):
        source = re.sub(r"(?<=\.)\s+(?=[A-Z])", "\n", without_comments(file.read_text(encoding="utf-8")))
        fields = "; ".join(re.findall(FIELDS, source, re.MULTILINE))
        for name in {*re.findall(DEFINED, source, re.MULTILINE), *re.findall(r"(?:^|;)\s*([\w']+)\s*:", fields)}:
            files.setdefault(name, set()).add(file.name)
    return [f"{name} is defined in {' and '.join(sorted(f))}" for name, f in sorted(files.items()) if len(f) > 1]


def listed(folder: Path = FOLDER) -> dict[Exported, str]:
    """What the README lists: each theorem, and the Python name whose docstring claims it."""
    found: dict[Exported, str] = {}
    file = ""
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"## \[(\w+\.v)\]", line):
            file = heading[1]
        elif row := re.match(r"\| `([\w']+)` \|.*\| `([\w.]+)` \|$", line):
            found[Exported(file, row[1])] = row[2]
    return found


def missing() -> list[str]:
    """The packages without which nothing can be checked here."""
    if not shutil.which("coqc"):
        return list(PACKAGES)
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True).stdout.strip()
    library = Path(where, "user-contrib", "mathcomp", "analysis", "altreals", "distr.vo")
    return [] if library.exists() else [PACKAGES[1]]


def other_versions() -> list[str]:
    """What is here in another version than the proofs are written for, a line each."""
    told = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=True).stdout.split()[0]
    where = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=True).stdout.strip()
    others = [] if told == COQ else [f"this is Coq {told}"]
    for library, (folders, digest) in LIBRARIES.items():
        sources = hashlib.sha256()
        for folder in folders:
            for file in sorted(Path(where, "user-contrib", "mathcomp", folder).rglob("*.v")):
                sources.update(file.read_bytes())
        if not sources.hexdigest().startswith(digest):
            others.append(f"the sources in {where}/user-contrib/mathcomp are not those of {library}")
    return others


def build(folder: Path = FOLDER) -> None:
    """Let Coq check what changed since the last time; one at a time, since two would write the same files."""
    with (folder / "Makefile").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        subprocess.run(["make", "--no-print-directory", "-j2", "-C", str(folder)], check=True)


def assumptions(theorems: Iterable[Exported], folder: Path = FOLDER) -> dict[Exported, set[str]]:
    """What each theorem rests on, as Coq prints it.

    Coq is asked about all of them together first, which is much faster; one by one only where that finds something.
    """
    theorems = list(theorems)
    together = ask("everything", theorems, folder)
    if together <= CLASSICAL:
        return dict.fromkeys(theorems, together)
    return {theorem: ask(theorem.name, [theorem], folder) for theorem in theorems}


def ask(about: str, theorems: Iterable[Exported], folder: Path) -> set[str]:
    """What these theorems together rest on."""
    names = [f"@{theorem.file.removesuffix('.v')}.{theorem.name}" for theorem in theorems]
    modules = sorted({name[1:].split(".")[0] for name in names})
    locate = "\n".join(f"Locate {'.'.join(axiom.split('.')[-2:])}." for axiom in sorted(CLASSICAL))
    question = f"""From Sparsegate Require {" ".join(modules)}.
Definition {about} := ({", ".join(names)}, tt).
Print Assumptions {about}.
{locate}
"""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "question.v")
        file.write_text(question, encoding="utf-8")
        command = ["coqc", "-q", "-w", "none", "-R", str(folder), "Sparsegate", str(file)]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return read_assumptions(answer)


def read_assumptions(answer: str) -> set[str]:
    """The names in what Coq printed: each starts a line, its statement goes on behind spaces.

    Coq prints the shortest name that is not ambiguous, and where it was asked to locate that, the name in full.
    """
    names: set[str] = set()
    full: dict[str, str] = {}
    for line in answer.splitlines():
        if located := re.match(r"Constant (\S+)$", line):
            full.setdefault(".".join(located[1].split(".")[-2:]), located[1])
        elif line and not line[0].isspace() and not line.startswith(("Axioms:", "Closed under", "No object")):
            names.add(line.split(" ")[0])
    return {full.get(name, name) for name in names}


def offences(
    proved: Iterable[Exported], in_readme: Iterable[Exported], rests_on: Mapping[Exported, set[str]]
) -> list[str]:
    """Everything that is wrong, a line each."""
    proved, in_readme = set(proved), set(in_readme)
    return [
        *(f"{file}: {name} is not in README.md" for file, name in sorted(proved - in_readme)),
        *(f"README.md lists {name}, which {file} does not export" for file, name in sorted(in_readme - proved)),
        *(f"{file}: Coq said nothing about {name}" for file, name in sorted(proved - set(rests_on))),
        *(
            f"{theorem.file}: {theorem.name} rests on {', '.join(sorted(names - CLASSICAL))}"
            for theorem, names in sorted(rests_on.items())
            if names - CLASSICAL
        ),
    ]


def main() -> int:
    """Check, say what was found, and give the exit code."""
    if packages := missing():
        print(f"The proofs cannot be checked here. Missing: apt-get install {' '.join(packages)}", file=sys.stderr)
        return 2
    if others := other_versions():
        needed = f"Coq {COQ}, {' and '.join(LIBRARIES)} (Debian 12)"
        print(f"The proofs are written for {needed}. Nothing was checked: {'; '.join(others)}", file=sys.stderr)
        return 2
    build()
    theorems = exported()
    wrong = refused() + doubled() + offences(theorems, listed(), assumptions(theorems))
    print(*wrong, sep="\n", file=sys.stderr) if wrong else None
    files = len({theorem.file for theorem in theorems})
    print(f"{len(theorems)} theorems in {files} files, checked by Coq; {len(wrong)} offences.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
