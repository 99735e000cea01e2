"""Every public name has its place in the reference, once."""

from __future__ import annotations

import re

from pages import api_pages, public_names


def test_the_subjects_hold_every_public_name_once() -> None:
    placed = [f"{subject.room}.{name}" for subject in api_pages.SUBJECTS.values() for name in subject.names]
    assert sorted(placed) == sorted(name for name, _ in public_names.public_names(public_names.source()))


def test_the_other_classes_exist_and_have_no_public_name() -> None:
    package = public_names.source()
    named = {found.path for _, found in public_names.public_names(package)}
    for subject in api_pages.SUBJECTS.values():
        for path in subject.others:
            found = package[path.removeprefix("sparsegate.")]
            assert found.is_class or found.is_function
            assert path not in named


def test_a_page_has_a_directive_for_each_name() -> None:
    subject = api_pages.SUBJECTS["client"]
    page = api_pages.api_page(subject)
    assert page.startswith("# Client of a service\n")
    assert re.findall(r"^::: (.*)$", page, re.MULTILINE) == [
        "sparsegate.connect",
        *subject.others,
    ]


def test_the_theorems_are_those_that_public_docstrings_refer_to() -> None:
    page = api_pages.theorems_page()
    assert "::: sparsegate.gates.bounds\n" in page
    assert "::: sparsegate.cli" not in page
