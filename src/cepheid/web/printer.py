"""A wrapper into text, in the short forms of XPath; `parse` gives the same tree again."""

from __future__ import annotations

from decimal import Decimal

from cepheid.core.time import Period
from cepheid.web.tree import (
    ANY_NODE,
    DESCENDANTS,
    OPERATORS,
    UNION,
    Action,
    ActionKind,
    AttributeMarker,
    Binary,
    Call,
    Expr,
    Filtered,
    Literal,
    Negate,
    Number,
    Part,
    Path,
    Predicate,
    Qualifier,
    RecordMarker,
    Star,
    Step,
    Test,
    TestKind,
    Variable,
    Wrapper,
)

_LEVEL = {operator: level for level, own in enumerate(OPERATORS) for operator in own}
_ADDITIVE, _UNARY = _LEVEL["+"], len(OPERATORS)
_LEVEL[UNION] = _UNARY + 1
_PATH = _UNARY + 2
_DOTS = {"self": ".", "parent": ".."}


def print_wrapper(wrapper: Wrapper) -> str:
    address = f"doc({print_expression(wrapper.address)})" if wrapper.address else ""
    is_bare = address and not wrapper.path.parts
    return address if is_bare else address + _path(wrapper.path)


def print_expression(tree: Expr) -> str:
    match tree:
        case Literal(value=value):
            return f'"{value}"' if '"' not in value else f"'{value}'"
        case Number(value=value):
            return number_text(value)
        case Variable(name=name):
            return f"${name}"
        case Call(name=name, arguments=arguments):
            return f"{name}({', '.join(map(print_expression, arguments))})"
        case Negate(operand=operand):
            return f"-{_within(operand, _UNARY)}"
        case Binary(operator=operator, left=left, right=right):
            level = _LEVEL[operator]
            return f"{_within(left, level)} {operator} {_within(right, level + 1)}"
        case Filtered(subject=subject, predicates=predicates):
            return _primary(subject) + "".join(map(_qualifier, predicates))
        case Path():
            return _path(tree)
    raise TypeError(f"cannot print {type(tree).__name__}")


def number_text(value: float) -> str:
    """Without an exponent, which XPath does not have."""
    return format(Decimal(int(value) if value.is_integer() else repr(value)), "f")


def _within(tree: Expr, level: int) -> str:
    """In brackets where it binds less tightly than what it is a part of."""
    text = print_expression(tree)
    # Behind the root alone, an operator would be a step.
    is_root = isinstance(tree, Path) and not tree.parts
    return f"({text})" if _level(tree) < level or is_root else text


def _level(tree: Expr) -> int:
    match tree:
        case Binary(operator=operator):
            return _LEVEL[operator]
        case Negate():
            return _UNARY
    return _PATH


def _primary(tree: Expr) -> str:
    """What predicates or steps follow: only paths and operators need brackets."""
    text = print_expression(tree)
    is_primary = isinstance(tree, Literal | Number | Variable | Call)
    return text if is_primary else f"({text})"


def _path(tree: Path) -> str:
    texts = ["/" if tree.is_absolute else ""]
    parts = tree.parts
    if tree.start is not None:
        filtered = isinstance(tree.start, Filtered)
        texts = [print_expression(tree.start) if filtered else _primary(tree.start), "/"]
    # `//` needs something before it, and a step that is written out behind it.
    can_shorten = tree.is_absolute or tree.start is not None
    for place, part in enumerate(parts):
        following = parts[place + 1] if place + 1 < len(parts) else None
        if can_shorten and part == DESCENDANTS and isinstance(following, Step):
            texts.append("/")
            can_shorten = False
            continue
        texts.append(print_part(part))
        texts.append("/" if following else "")
        can_shorten = True
    return "".join(texts)


def print_part(part: Part) -> str:
    match part:
        case Step():
            return _step(part)
        case Action():
            return _action(part)
        case Star(path=path):
            return f"({_path(path)})*{bounds_text(part)}"


def bounds_text(star: Star) -> str:
    if not star.least and star.most is None:
        return ""
    return f"{{{star.least},{'' if star.most is None else star.most}}}"


def _step(step: Step) -> str:
    # XPath has no predicates behind dots, though wrappers may.
    is_plain = step.test == ANY_NODE and not isinstance(
        next(iter(step.qualifiers), None), Predicate
    )
    short = _DOTS.get(step.axis) if is_plain else None
    axis = {"child": "", "attribute": "@"}.get(step.axis, f"{step.axis}::")
    return (short or axis + _test(step.test)) + "".join(map(_qualifier, step.qualifiers))


def _test(test: Test) -> str:
    if test.kind is TestKind.NAME:
        name = test.name or "*"
    elif test.kind is TestKind.INSTRUCTION and test.name is not None:
        name = f"{test.kind}({print_expression(Literal(test.name))})"
    else:
        name = f"{test.kind}()"
    return name + (f"#{test.id}" if test.id else "") + "".join(f".{each}" for each in test.classes)


def _qualifier(qualifier: Qualifier) -> str:
    match qualifier:
        case Predicate(condition=condition, is_optional=is_optional):
            return f"[{'?' if is_optional else ''}{print_expression(condition)}]"
        case RecordMarker(type=type):
            return f":<{type}>"
        case AttributeMarker(name=name, value=value):
            return f":<{name}={_within(value, _ADDITIVE)}>"


def _action(action: Action) -> str:
    match action:
        case Action(kind=ActionKind.FILL, text=Literal() | Variable() as text):
            inner = print_expression(text)
        case Action(text=Literal() | Variable() as text):
            inner = f"{action.kind} {print_expression(text)}"
        case Action(key=str() as key):
            inner = f"{action.kind} {key.lower()}"
        case Action(period=Period() as period):
            inner = f"{action.kind} {period}"
        case _:
            inner = str(action.kind)
    return f"{{{inner}{' /' if action.is_absolute else ''}}}"
