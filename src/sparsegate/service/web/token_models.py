"""Tokens as they travel, and who asked what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from sparsegate.service.tokens import LONGEST_NAME
from sparsegate.service.web.fields import MOST_WHOLE, Positive, Posted, example


class Quota(BaseModel):
    """What a token may have, and had; null: no limit."""

    model_config = example(most_above=100, above=3, most_epsilon="1", epsilon="0.5")

    most_above: Annotated[int | None, Field(description="How many ABOVE its questions may be given.")]
    above: Annotated[int, Field(description="How many they were given, lost answers included.")]
    most_epsilon: Annotated[str | None, Field(description="How much it may charge.")]
    epsilon: Annotated[str, Field(description="How much it charged.")]


class WhoAmI(BaseModel):
    """Whose token this is, and what it may do."""

    model_config = example(
        name="anna",
        role="analyst",
        expires_at=None,
        quota={"most_above": 100, "above": 3, "most_epsilon": None, "epsilon": "0"},
    )

    name: str
    role: Literal["owner", "analyst"]
    expires_at: str | None
    quota: Quota


class TokenView(BaseModel):
    """A token, without its text."""

    model_config = example(
        name="anna",
        role="analyst",
        added_at="2030-01-01T12:00:00+00:00",
        expires_at="2030-02-01T00:00:00+00:00",
        last_used_at=None,
        revoked_at=None,
        quota=None,
    )

    name: str
    role: Literal["owner", "analyst"]
    added_at: str
    expires_at: str | None
    last_used_at: Annotated[str | None, Field(description="To the minute.")]
    revoked_at: str | None
    quota: Annotated[Quota | None, Field(description="Null where it has none.")]


class NewToken(TokenView):
    """A token with its text, which is shown this once."""

    model_config = example(
        token="sg_" + "A" * 43,
        name="anna",
        role="analyst",
        added_at="2030-01-01T12:00:00+00:00",
        expires_at=None,
        last_used_at=None,
        revoked_at=None,
        quota=None,
    )

    token: str


class AddToken(Posted):
    """A new token. Its name stands for it for ever, also when it is revoked."""

    model_config = example(name="berta", role="analyst", expires="30d", most_above=100)

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="Whom it is for.")]
    role: Literal["owner", "analyst"] = "analyst"
    expires: Annotated[
        str | None, Field(max_length=40, description="A time from now such as 30d or 12h, or a date, or a moment.")
    ] = None
    most_above: Annotated[int | None, Field(ge=1, le=MOST_WHOLE, description="How many ABOVE it may be given.")] = None
    most_epsilon: Annotated[Positive | None, Field(description="How much an owner may charge.")] = None


class ActivityLine(BaseModel):
    """One question, and what came of it; ``above`` is null where the answer was lost."""

    model_config = example(
        gate="g-0123456789abcdef",
        gate_name="Visits to the new page",
        number=4,
        by="anna",
        at="2030-01-01T12:00:03+00:00",
        where="country = 'DE'",
        above=True,
        estimate=1870,
        cursor="2030-01-01T12:00:03+00:00_1_4",
    )

    gate: str
    gate_name: str
    number: int
    by: Annotated[str | None, Field(description="The name of a token.")]
    at: str
    where: str
    above: bool | None
    estimate: int | None
    cursor: Annotated[str, Field(description="What is older is `after` this.")]
