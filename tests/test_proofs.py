"""The theorems that Coq checked, the list of them, and the docstrings that claim them, say the same."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PROOFS = ROOT / "proofs"
CHECK: dict[str, Any] = runpy.run_path(str(PROOFS / "check.py"))
EXPORTED = CHECK["exported"]()
LACKING = CHECK["missing"]() or CHECK["other_versions"]()
needs_coq = pytest.mark.skipif(bool(LACKING), reason=f"Coq as in Debian 12 is not here: {' '.join(LACKING)}")


def claims(root: Path = ROOT) -> tuple[set[tuple[str, str]], set[str]]:
    """The theorems that docstrings name as machine-checked, and the names of all docstrings that say so."""
    theorems, places = set(), set()

    def read(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, place: str) -> None:
        text = ast.get_docstring(node) or ""
        if "machine-checked" in text.lower():
            places.add(place)
        for names, file in re.findall(r"Machine-checked:([^()]*)\(proofs/(\w+\.v)\)", text):
            theorems.update((file, theorem) for theorem in re.findall(r"`([\w']+)`", names))
        for child in node.body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                read(child, f"{place}.{child.name}")

    for file in sorted((root / "src").rglob("*.py")):
        name = ".".join(file.relative_to(root / "src").with_suffix("").parts).removesuffix(".__init__")
        read(ast.parse(file.read_text(encoding="utf-8")), name)
    return theorems, places


def test_the_list_has_what_is_proved_and_each_docstring_that_claims_a_proof_is_in_it() -> None:
    in_readme = CHECK["listed"]()
    assert set(in_readme) == set(EXPORTED)
    theorems, places = claims()
    assert theorems <= set(in_readme)
    around = {place: {place, place.rpartition(".")[0]} for place in in_readme.values()}
    assert [place for place, either in around.items() if not either & places] == [], (
        "no docstring says that it is proved"
    )
    assert places <= set(in_readme.values()), "a proof that the list does not have"


def test_each_file_is_in_the_map_and_says_what_it_proves_first_and_stays_readable() -> None:
    mapped = re.findall(r"^- \[(\w+\.v)\]", (PROOFS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(mapped) == sorted(file.name for file in PROOFS.glob("*.v"))
    names = [theorem.name for theorem in EXPORTED]
    assert len(names) == len(set(names)) > 100
    assert CHECK["refused"]() == []
    for file in PROOFS.glob("*.v"):
        source = file.read_text(encoding="utf-8")
        assert source.startswith("(** * ")
        assert len(source.splitlines()) <= 350
        header = source[: source.index("*)")]
        theorems = [theorem.name for theorem in EXPORTED if theorem.file == file.name]
        assert [name for name in theorems if name not in header] == []


def test_no_name_is_defined_in_two_files(tmp_path: Path) -> None:
    assert CHECK["doubled"]() == []
    (tmp_path / "one.v").write_text(
        "Record r := R { size_of : nat;\n  colour : nat }.\nLemma same : 1 = 1. (* Lemma no *)"
    )
    (tmp_path / "two.v").write_text(
        "Definition a := 1. Definition colour := 2.\nFixpoint same n := n.\nLemma no : a = 1."
    )
    both = " is defined in one.v and two.v"
    assert CHECK["doubled"](tmp_path) == [f"colour{both}", f"same{both}"]


UNPROVED = """(** * Unproved *)
Section Unproved.
Hypothesis one : 1 = 1.
Axiom two : 2 = 3.
Theorem sound : 1 = 1. Proof. exact one. Qed.
(* Theorem commented : (* nested *) 1 = 1. *)
Theorem assumed : 2 = 3. Proof. exact two. Qed.
Theorem left_out : 3 = 4. Admitted.
End Unproved.
"""
ALIKE = """From Sparsegate Require boolp.
Theorem alike : 1 = 2. Proof. exact boolp.functional_extensionality_dep. Qed.
"""
UNGUARDED = """Unset Guard Checking.
Fixpoint f (n : nat) : 1 = 2 := f n.
Set Guard Checking.
Theorem unguarded : 1 = 2. Proof. exact (f 0). Qed.
"""


@needs_coq
def test_a_proof_that_was_left_out_or_rests_on_an_axiom_or_a_check_turned_off_is_found(tmp_path: Path) -> None:
    for name in ("Makefile", "_CoqProject"):
        shutil.copy(PROOFS / name, tmp_path)
    sources = {"unproved": UNPROVED, "alike": ALIKE, "unguarded": UNGUARDED}
    sources["boolp"] = "Axiom functional_extensionality_dep : 1 = 2."
    for name, source in sources.items():
        (tmp_path / f"{name}.v").write_text(source)
    CHECK["build"](tmp_path)
    theorems = CHECK["exported"](tmp_path)
    assert sorted(theorem.name for theorem in theorems) == ["alike", "assumed", "left_out", "sound", "unguarded"]
    assert sorted(CHECK["offences"](theorems, theorems, CHECK["assumptions"](theorems, tmp_path))) == [
        "alike.v: alike rests on Sparsegate.boolp.functional_extensionality_dep",
        "unguarded.v: unguarded rests on unguarded.f",
        "unproved.v: assumed rests on unproved.two",
        "unproved.v: left_out rests on unproved.left_out",
    ]
    (tmp_path / "wrong.v").write_text("Theorem wrong : 1 = 2. Proof. reflexivity. Qed.\n")
    with pytest.raises(subprocess.CalledProcessError):
        CHECK["build"](tmp_path)


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("Module M. Theorem one : 1 = 2. Admitted. End M. Lemma one : True. exact I. Qed.", "Module"),
        ("Fail\nTheorem one : nonsense.\nLemma one : True. exact I. Qed.", "Fail"),
        ("Theorem one : 1 = 2.\nAbort.\nLemma one : True. exact I. Qed.", "Abort"),
        ("  Theorem one : 1 = 1. reflexivity. Qed.", "one has to start its line"),
        ("Section S. Theorem one : 1 = 1. reflexivity. Qed.", "one has to start its line"),
        ("Local Theorem one : 1 = 1. reflexivity. Qed.", "Local Theorem"),
        ("Corollary one : 1 = 1. reflexivity. Qed.", "Corollary"),
        ("#[bypass_check(guard)]\nFixpoint f (n : nat) : 1 = 2 := f n.", "bypass_check"),
        ("Unset  Universe Checking.", "Unset Universe Checking"),
        ("Parameter one : 1 = 2.", "Parameter"),
        ("Lemma one : 1 = 2. Proof. admit. Qed.", "admit"),
    ],
)
def test_a_command_that_could_deceive_the_check_is_refused(tmp_path: Path, source: str, word: str) -> None:
    (tmp_path / "smuggled.v").write_text(f"(** * Smuggled: Axiom, Fail, Module *)\n{source}\n")
    assert any(line.startswith(f"smuggled.v: {word}") for line in CHECK["refused"](tmp_path))
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "unbuilt.v").write_text("Theorem unbuilt : 1 = 2. Proof. reflexivity. Qed.\n")
    assert "inner/unbuilt.v: is not built, being in a folder of its own" in CHECK["refused"](tmp_path)


def test_no_docstring_claims_a_proof_in_a_form_that_is_not_compared() -> None:
    for file in sorted((ROOT / "src").rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        compared = re.findall(r"machine-checked[^:.]*:\s+proofs/README\.md", source, re.IGNORECASE)
        assert len(compared) == len(re.findall(r"[Mm]achine[- ]checked", source)), file


def test_what_the_list_and_the_files_do_not_share_is_found() -> None:
    theorem = CHECK["Exported"]
    one, two, three = theorem("a.v", "one"), theorem("a.v", "two"), theorem("b.v", "three")
    wrong = CHECK["offences"]([one, two], [one, three], {one: set()})
    assert wrong == [
        "a.v: two is not in README.md",
        "README.md lists three, which b.v does not export",
        "a.v: Coq said nothing about two",
    ]


def test_without_coq_or_with_another_version_the_packages_are_named_and_nothing_is_built(tmp_path: Path) -> None:
    def checked(path: str) -> str:
        command = [sys.executable, str(PROOFS / "check.py")]
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": path})
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    assert "apt-get install coq libcoq-mathcomp-analysis" in checked(str(tmp_path))
    library = tmp_path / "user-contrib" / "mathcomp" / "analysis" / "altreals"
    library.mkdir(parents=True)
    (library / "distr.vo").touch()
    coqc = tmp_path / "coqc"
    coqc.write_text(f'#!/bin/sh\n[ "$1" = -where ] && echo {tmp_path} || echo 8.18.0 4.14.1\n')
    coqc.chmod(0o755)
    wrong = checked(f"{tmp_path}:/usr/bin:/bin")
    assert "Coq 8.16.1, mathcomp 1.15.0 and mathcomp-analysis 0.6.0 (Debian 12). Nothing was checked" in wrong
    assert "this is Coq 8.18.0; the sources in" in wrong
