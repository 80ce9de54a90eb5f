"""Colour sets in CPN ML, and tokens as text of their colour sets."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain

from cepheid.core.event import Event, Value
from cepheid.formal.petri.nets.multiset import Colour, Multiset
from cepheid.formal.petri.nets.net import ColourSet, Net, ProductOf, Simple

# The colour sets that places have, and what they are made of, in the order of their declaration.
# A product and a list name their parts; a union has constructors.
PRODUCTS: dict[str, tuple[str, ...]] = {
    "ATTR": ("STRING", "VALUE"),
    "EVENT": ("STRING", "INT", "ATTRS"),
    "TAG": ("STRING", "BOUND"),
    "SUM": ("INT", "VALUE"),
    "ENTRY": ("INT", "INT", "INT", "STRING", "INT"),
    "SEEN_KEY": ("VALUES", "INT"),
    "HELD": ("BINDING", "BOOL", "VALUES", "VALUES"),
    "TIMED": ("INT", "HELD"),
    "GROUP": ("VALUES", "INT", "STATES"),
    "OUTPUT": ("BOOL", "ATTRS"),
}
LISTS = {
    "STRINGS": "STRING",
    "VALUES": "VALUE",
    "ATTRS": "ATTR",
    "EVENTS": "EVENT",
    "BINDING": "TAG",
    "BINDINGS": "BINDING",
    "TRUTHS": "BINDINGS",
    "SIDES": "BOOL",
    "AGENDA": "ENTRY",
    "KEY": "VALUE",
    "KEYS": "KEY",
    "SEEN": "SEEN_KEY",
    "HELDS": "HELD",
    "TIMEDS": "TIMED",
    "STATES": "STATE",
    "GROUPS": "GROUP",
    "OUTPUTS": "OUTPUT",
}
UNIONS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "VALUE": (("NULL", None), ("I", "INT"), ("R", "REAL"), ("S", "STRING"), ("B", "BOOL")),
    "BOUND": (("One", "EVENT"), ("Many", "EVENTS")),
    "STATE": (("CountS", "INT"), ("SumS", "SUM"), ("ValuesS", "VALUES")),
}
SIMPLE = {"UNIT": "unit", "INT": "intinf", "STRING": "string", "BOOL": "bool", "REAL": "real"}
_ORDER = (
    *SIMPLE,
    *("VALUE", "ATTR", "ATTRS", "EVENT", "EVENTS", "BOUND", "TAG", "BINDING", "BINDINGS"),
    *("TRUTHS", "SIDES", "ENTRY", "AGENDA", "KEY", "KEYS", "STRINGS", "VALUES", "SUM", "SEEN_KEY"),
    *("SEEN", "HELD", "HELDS", "TIMED", "TIMEDS", "STATE", "STATES", "GROUP", "GROUPS"),
    *("OUTPUT", "OUTPUTS"),
)


def declarations(net: Net) -> list[tuple[str, str]]:
    """The names and definitions of all colour sets, each after what it is made of."""
    products = chain.from_iterable(_products(place.colours) for place in net.places)
    return [
        *((name, _definition(name)) for name in _ORDER),
        *(
            (name_of(p), f"product {' * '.join(map(name_of, p.parts))}")
            for p in dict.fromkeys(products)
        ),
    ]


def _definition(name: str) -> str:
    if name in SIMPLE:
        return SIMPLE[name]
    if name in LISTS:
        return f"list {LISTS[name]}"
    if name in PRODUCTS:
        return f"product {' * '.join(PRODUCTS[name])}"
    fields = (c if of is None else f"{c}:{of}" for c, of in UNIONS[name])
    return f"union {' + '.join(fields)}"


def _products(colours: ColourSet) -> Iterable[ProductOf]:
    if isinstance(colours, ProductOf) and colours.parts:
        for part in colours.parts:
            yield from _products(part)
        yield colours


def name_of(colours: ColourSet) -> str:
    if isinstance(colours, Simple):
        return colours.name
    return "x".join(map(name_of, colours.parts)) if colours.parts else "UNIT"


def colours_of(name: str, products: dict[str, tuple[str, ...]]) -> ColourSet:
    """The colour set of a name; `products` are those that a file declares."""
    if name == "UNIT":
        return ProductOf(())
    if name in products:
        return ProductOf(tuple(colours_of(part, products) for part in products[name]))
    of = {"INT": int, "STRING": str, "BOOL": bool, "EVENT": Event}.get(name, tuple)
    return Simple(name, of)


# Tokens.


def is_written(colours: ColourSet) -> bool:
    """Whether there is a text for the tokens of a colour set."""
    if isinstance(colours, ProductOf):
        return all(map(is_written, colours.parts))
    return colours.name in _ORDER


def marking_text(tokens: Multiset, colours: ColourSet) -> str:
    parts = (f"{count}`{text_of(token, colours)}" for token, count in tokens.items())
    return " ++ ".join(parts) or "empty"


def text_of(token: Colour, colours: ColourSet | str) -> str:
    """A token as an expression of its colour set."""
    if isinstance(colours, ProductOf):
        assert isinstance(token, tuple)
        parts = zip(token, colours.parts, strict=True)
        return f"({', '.join(text_of(each, part) for each, part in parts)})"
    name = colours if isinstance(colours, str) else colours.name
    if isinstance(token, Event):
        attributes = ", ".join(f"({string(n)}, {value_text(v)})" for n, v in token.items())
        return f"event({string(token.type)}, {number(token.instant)}, [{attributes}])"
    if name == "VALUE":
        return value_text(token)  # type: ignore[arg-type]
    if name == "BOUND":
        assert isinstance(token, tuple)
        return f"Many([{', '.join(text_of(event, 'EVENT') for event in token)}])"
    if name in LISTS:
        assert isinstance(token, tuple)
        return f"[{', '.join(text_of(each, LISTS[name]) for each in token)}]"
    if name in PRODUCTS:
        assert isinstance(token, tuple)
        parts_of = zip(token, PRODUCTS[name], strict=True)
        return f"({', '.join(_bound(each, part) for each, part in parts_of)})"
    return plain(token)


def _bound(token: Colour, name: str) -> str:
    if name == "BOUND" and isinstance(token, Event):
        return f"One({text_of(token, 'EVENT')})"
    return text_of(token, name)


def plain(value: object) -> str:
    """A constant without a union around it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(plain, value))}]"
    assert isinstance(value, str)
    return string(value)


def number(value: float) -> str:
    """Minus is a tilde."""
    text = repr(value).replace("e+", "E").replace("e", "E").replace("-", "~")
    if isinstance(value, float) and "." not in text:
        text = text.replace("E", ".0E") if "E" in text else f"{text}.0"
    return text


def string(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return "".join(f"\\{byte:03d}" for byte in character.encode())


def value_text(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return f"B({plain(value)})"
    if isinstance(value, int):
        return f"I({number(value)})"
    if isinstance(value, float) and math.isfinite(value):
        return f"R({number(value)})"
    if isinstance(value, str):
        return f"S({string(value)})"
    raise TypeError("a value that is no finite number, text or truth value")
