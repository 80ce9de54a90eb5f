"""Classes as text; what is parsed again is equal."""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.core.types import Attribute
from cepheid.lang.bicepl.layout import lines_of
from cepheid.lang.bicepl.notation import print_name, print_time, print_type, tokens_of
from cepheid.lang.common.commented_lines import join_lines
from cepheid.program.classes import AnyClass, ComplexClass, Reaction


def print_class(declared: AnyClass) -> str:
    """In canonical form, as formatting a text gives it."""
    flat = " ".join(_clauses(declared)) + ";"
    tokens = tokens_of(flat)
    # A tree that comes from no text may hold any text for SQL, which is shown as it is.
    return flat + "\n" if tokens.problems else join_lines(list(lines_of(tokens.tokens[:-1])), ())


def _clauses(declared: AnyClass) -> Iterator[str]:
    attributes = ", ".join(map(_attribute, declared.attributes))
    yield f"CREATE {_kind(declared)} EVENT CLASS {print_name(declared.name)}({attributes})"
    yield f"ID ({', '.join(map(print_name, declared.key))})"
    if isinstance(declared, ComplexClass):
        yield f"OBSERVATION SPAN ({print_time(declared.observation)})"
        yield f"AS {declared.select.text} OCCURRING AT {declared.occurring.text}"
    else:
        yield f"FREEZING TIME ({print_time(declared.freezing)})"
    if declared.reactions:
        yield ", ".join(map(_reaction, declared.reactions))


def _kind(declared: AnyClass) -> str:
    if isinstance(declared, ComplexClass):
        return "COMPLEX"
    return "MUTABLE SUBSCRIBED" if declared.is_mutable else "IMMUTABLE SUBSCRIBED"


def _attribute(attribute: Attribute) -> str:
    return f"{print_name(attribute.name)} {print_type(attribute.type)}"


def _reaction(reaction: Reaction) -> str:
    arguments = ", ".join(argument.text for argument in reaction.arguments)
    return f"ON {reaction.condition.text} DO {print_name(reaction.action)}({arguments})"
