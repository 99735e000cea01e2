"""Conditions: from the text of a question to SQL that is safe to run."""

from sparsegate.service.predicates.reading import Predicate, read_predicate
from sparsegate.service.predicates.schema import Column, Kind, PredicateError, PublicSchema

__all__ = ["Column", "Kind", "Predicate", "PredicateError", "PublicSchema", "read_predicate"]
