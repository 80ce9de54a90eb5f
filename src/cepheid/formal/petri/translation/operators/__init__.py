"""The operators of patterns whose parts may end each other: a file for each family."""

from __future__ import annotations

from collections.abc import Callable

from cepheid.formal.petri.translation.ending_patterns import Instances, Part, State
from cepheid.formal.petri.translation.operators import guards, logic, repetition, sequence, timers
from cepheid.pattern import tree

DRAWS: dict[type[tree.Pattern], Callable[[Instances, Part], None]] = {
    tree.Atom: sequence.draw_atom,
    tree.FollowedBy: sequence.draw_followed_by,
    tree.Every: repetition.draw_every,
    tree.EveryDistinct: repetition.draw_every_distinct,
    tree.Repeat: repetition.draw_repeat,
    tree.AllOf: logic.draw_and,
    tree.AnyOf: logic.draw_or,
    tree.Absent: logic.draw_not,
    tree.Within: guards.draw_within,
    tree.While: guards.draw_while,
    tree.Interval: timers.draw_interval,
    tree.At: timers.draw_at,
}
STATES: dict[type[tree.Pattern], State] = {
    tree.Atom: sequence.ATOM,
    tree.FollowedBy: sequence.FOLLOWED_BY,
    tree.Every: repetition.EVERY,
    tree.EveryDistinct: repetition.EVERY,
    tree.Repeat: repetition.REPEAT,
    tree.AllOf: logic.AND,
    tree.AnyOf: logic.OR,
    tree.Absent: (),
    tree.Within: guards.WITHIN,
    tree.While: (),
    tree.Interval: (),
    tree.At: (),
}
