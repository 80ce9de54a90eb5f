"""The functions that exported inscriptions call: in CPN ML for other tools, in Python for us.

Values of attributes may be null, so they are a union; a function of a null is null, as in SQL. In
Python a value is itself, an event is an `Event`, and lists are tuples.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cepheid.core.event import Event, Value
from cepheid.core.types import DOUBLE, INT, LONG, DataType
from cepheid.expr.arithmetic import arithmetic, divide
from cepheid.expr.compare import OPERATORS
from cepheid.expr.values import rounding, same, sort_key
from cepheid.formal.petri.functions import lists as f
from cepheid.formal.petri.functions.lists import Binding
from cepheid.formal.petri.nets.terms import Function

# What the functions are about, and their definitions. INT is an IntInf: instants are microseconds.
DEFINITIONS = r"""
fun event (kind : STRING, time : INT, attributes : ATTRS) = (kind, time, attributes) : EVENT;
fun find ([] : ATTRS, _ : STRING) = NULL
  | find ((n, v) :: rest, name) = if n = name then v else find (rest, name);
fun attr ((_, _, attributes) : EVENT, name) = find (attributes, name);
fun len xs = IntInf.fromInt (List.length xs);
fun item (xs, n) = List.nth (xs, IntInf.toInt n);
fun bound ([] : BINDING, _ : STRING) = NONE
  | bound ((t, x) :: rest, tag) = if t = tag then SOME x else bound (rest, tag);
fun attrOf (b : BINDING, tag, name) =
  case bound (b, tag) of SOME (One e) => attr (e, name) | _ => NULL;
fun attrAt (b : BINDING, tag, n, name) =
  case bound (b, tag) of
    SOME (Many es) => if n < len es then attr (item (es, n), name) else NULL
  | _ => NULL;
fun truth (B b) = b | truth _ = false;
fun isNull NULL = true | isNull _ = false;
fun toReal (I n) = Real.fromLargeInt n | toReal (R r) = r | toReal _ = 0.0;
fun numbers test (I a, I b) = B (test (IntInf.compare (a, b)))
  | numbers test (x, y) =
      let val (a, b) = (toReal x, toReal y)
      in if Real.isNan a orelse Real.isNan b then B false else B (test (Real.compare (a, b))) end;
fun compared test (NULL, _) = NULL
  | compared test (_, NULL) = NULL
  | compared test (S a, S b) = B (test (String.compare (a, b)))
  | compared test (B a, B b) =
      B (test (if a = b then EQUAL else if b then LESS else GREATER))
  | compared test xy = numbers test xy;
fun not3 (B b) = B (not b) | not3 _ = NULL;
fun eq xy = compared (fn c => c = EQUAL) xy;
fun ne xy = not3 (eq xy);
fun lt xy = compared (fn c => c = LESS) xy;
fun le xy = compared (fn c => c <> GREATER) xy;
fun gt xy = compared (fn c => c = GREATER) xy;
fun ge xy = compared (fn c => c <> LESS) xy;
fun is (NULL, NULL) = B true | is (NULL, _) = B false | is (_, NULL) = B false | is xy = eq xy;
fun and3 (B false, _) = B false
  | and3 (_, B false) = B false
  | and3 (B true, B true) = B true
  | and3 _ = NULL;
fun or3 (x, y) = not3 (and3 (not3 x, not3 y));
fun oneOf (x, []) = B false | oneOf (x, y :: rest) = or3 (eq (x, y), oneOf (x, rest));
fun fitInt n = (n + 2147483648) mod 4294967296 - 2147483648 : INT;
fun fitLong n =
  (n + 9223372036854775808) mod 18446744073709551616 - 9223372036854775808 : INT;
fun integers fit operate (I a, I b) = I (fit (operate (a, b))) | integers _ _ _ = NULL;
fun broken operate (NULL, _) = NULL
  | broken operate (_, NULL) = NULL
  | broken operate (x, y) = R (operate (toReal x, toReal y));
fun addInt xy = integers fitInt (op +) xy;
fun subInt xy = integers fitInt (op -) xy;
fun mulInt xy = integers fitInt (op * ) xy;
fun addLong xy = integers fitLong (op +) xy;
fun subLong xy = integers fitLong (op -) xy;
fun mulLong xy = integers fitLong (op * ) xy;
fun addDouble xy = broken (op +) xy;
fun subDouble xy = broken (op -) xy;
fun mulDouble xy = broken (op * ) xy;
fun divide xy = broken (op /) xy;
fun remainder (I a, I b) = if b = 0 then NULL else I (IntInf.rem (a, b)) | remainder _ = NULL;
fun millis t = I (t div 1000);
fun toDouble NULL = NULL | toDouble x = R (toReal x);
fun sumIn add ((n, total) : SUM, NULL) = (n, total)
  | sumIn add ((n, total), v) = (n + 1, add (total, v)) : SUM;
fun sumOut subtract zero ((n, total) : SUM, NULL) = (n, total)
  | sumOut subtract zero ((n, total), v) =
      (n - 1, if n = 1 then zero else subtract (total, v)) : SUM;
fun enterInt cv = sumIn addInt cv;
fun enterLong cv = sumIn addLong cv;
fun enterDouble cv = sumIn addDouble cv;
fun leaveInt cv = sumOut subInt (I 0) cv;
fun leaveLong cv = sumOut subLong (I 0) cv;
fun leaveDouble cv = sumOut subDouble (R 0.0) cv;
fun sumOf ((n, total) : SUM) = if n = 0 then NULL else total;
fun avgOf ((n, total) : SUM) = if n = 0 then NULL else R (toReal total / Real.fromLargeInt n);
fun enterSorted ([], NULL) = []
  | enterSorted ([], v) = [v]
  | enterSorted (x :: xs, v) =
      if isNull v then x :: xs else if truth (lt (v, x)) then v :: x :: xs
      else x :: enterSorted (xs, v);
fun leaveFirst ([], _) = []
  | leaveFirst (x :: xs, v) = if truth (is (x, v)) then xs else x :: leaveFirst (xs, v);
fun enterLast (xs, v) = xs ^^ [v];
fun firstOf [] = NULL | firstOf (x :: _) = x;
fun lastOf [] = NULL | lastOf xs = List.last xs;
fun keepFirst ([], v) = [v] | keepFirst (xs, _) = xs;
fun keepLast (_, v) = [v];
fun keepMin ([], v) = [v]
  | keepMin (x :: xs, v) = if isNull x orelse truth (lt (v, x)) then [v] else x :: xs;
fun keepMax ([], v) = [v]
  | keepMax (x :: xs, v) = if isNull x orelse truth (gt (v, x)) then [v] else x :: xs;
fun override (b, []) = b : BINDING
  | override (b, (t, x) :: rest) =
      let
        fun put [] = [(t, x)]
          | put ((u, y) :: more) = if u = t then (t, x) :: more else (u, y) :: put more
      in override (put b, rest) end;
fun bind (b, tag, e) = override (b, [(tag, One e)]);
fun eventsOf (One e) = [e] | eventsOf (Many es) = es;
fun has ([] : STRINGS, _) = false | has (x :: xs, y) = x = y orelse has (xs, y);
fun collect (c, [], _) = c : BINDING
  | collect (c, (t, x) :: rest, tags) =
      if not (has (tags, t)) then collect (c, rest, tags)
      else
        let val sofar = case bound (c, t) of NONE => [] | SOME y => eventsOf y
        in collect (override (c, [(t, Many (sofar ^^ eventsOf x))]), rest, tags) end;
fun put ([], _ : INT, _) = []
  | put (x :: xs, n, change) = if n = 0 then change x :: xs else x :: put (xs, n - 1, change);
fun close (sides : SIDES, n, finished) = put (sides, n, fn s => s andalso not finished);
fun isOpen (sides : SIDES, places) = List.exists (fn n => item (sides, n)) places;
fun addTruth (truths : TRUTHS, n, b) = put (truths, n, fn bs => bs ^^ [b]);
fun onlyTruth (truths : TRUTHS, n, b) = put (truths, n, fn _ => [b]);
fun products [] = [[]] : BINDINGS
  | products (side :: sides) =
      List.concat (map (fn b => map (fn rest => override (b, rest)) (products sides)) side);
fun combine (truths, n, b) = products (onlyTruth (truths, n, b));
fun alike ([], []) = true
  | alike (x :: xs, y :: ys) = truth (is (x, y)) andalso alike (xs, ys)
  | alike _ = false;
fun member (key, keys) = List.exists (fn k => alike (k, key)) (keys : KEYS);
fun append (xs, x) = xs ^^ [x];
fun toCount (CountS n) = n | toCount _ = 0;
fun toSum (SumS s) = s | toSum _ = (0, NULL);
fun toValues (ValuesS vs) = vs | toValues _ = [];
fun countIn (n : INT, v) = if isNull v then n else n + 1;
fun countOut (n : INT, v) = if isNull v then n else n - 1;
fun examine (passes, key, args) (r : BINDING, t : INT) =
  (r, passes (r, t), key (r, t), args (r, t)) : HELD;
fun examineAll functions (rows : BINDINGS, t) = map (fn r => examine functions (r, t)) rows;
fun passing (rows : HELDS) = List.filter (fn (_, passes, _, _) => passes) rows;
fun statesOf ([] : GROUPS, _, none) = none 0 : STATES
  | statesOf ((k, _, states) :: rest, key, none) =
      if alike (k, key) then states else statesOf (rest, key, none);
fun sizeOf ([] : GROUPS, _) = 0
  | sizeOf ((k, n, _) :: rest, key) = if alike (k, key) then n else sizeOf (rest, key);
fun setGroup ([] : GROUPS, group) = [group]
  | setGroup ((k, n, s) :: rest, group) =
      if alike (k, #1 (group : GROUP)) then group :: rest else (k, n, s) :: setGroup (rest, group);
fun moved (move, step, none) (groups, rows : HELDS) =
  List.foldl (fn ((_, _, key, args), g) =>
    setGroup (g, (key, sizeOf (g, key) + step, move (statesOf (g, key, none), args)))) groups rows;
fun applied (enter, leave, none) (groups, new, old) =
  moved (leave, ~1, none) (moved (enter, 1, none) (groups, passing new), passing old);
fun groupsAfter functions (groups, new, old) =
  List.filter (fn (_, n, _) => n > 0) (applied functions (groups, new, old));
fun firsts ([] : HELDS, _) = []
  | firsts ((r, p, key, args) :: rest, seen) =
      if List.exists (fn k => alike (k, key)) seen then firsts (rest, seen)
      else (r, p, key, args) :: firsts (rest, key :: seen);
fun told (columns, having, tell, none) (isOld, rows : HELDS, groups, t : INT) =
  List.concat (map (fn (r, _, key, _) =>
    let val a = tell (statesOf (groups, key, none)) : VALUES
    in if having (r, t, a) then [(isOld, columns (r, t, a))] : OUTPUTS else [] end) rows);
fun silent (new : HELDS, old : HELDS) =
  not (null new andalso null old) andalso null (passing new) andalso null (passing old);
fun newRows (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  if silent (new, old) then []
  else told (columns, having, tell, none)
    (false, passing new, applied (enter, leave, none) (groups, new, old), t);
fun oldRows (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  if silent (new, old) then []
  else told (columns, having, tell, none)
    (true, passing old, applied (enter, leave, none) (groups, new, old), t);
fun touched (new, old) = firsts (passing new ^^ passing old, []);
fun newGroups (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  told (columns, having, tell, none)
    (false, touched (new, old), applied (enter, leave, none) (groups, new, old), t);
fun oldGroups (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  told (columns, having, tell, none) (true, touched (new, old), groups, t);
fun whole (new, old) =
  case passing new ^^ passing old of [] => [([], true, [], [])] : HELDS | row :: _ => [row];
fun newTotals (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  if silent (new, old) then []
  else told (columns, having, tell, none)
    (false, whole (new, old), applied (enter, leave, none) (groups, new, old), t);
fun oldTotals (columns, having, tell, enter, leave, none) (groups, new, old, t) =
  if silent (new, old) then []
  else told (columns, having, tell, none) (true, whole (new, old), groups, t);
fun attrsOf (outputs : OUTPUTS) = #2 (hd outputs);
fun isOld (outputs : OUTPUTS) = #1 (hd outputs);
fun insert (held : TIMEDS, due, row) = held ^^ [(due, row)];
fun firstDue (held : TIMEDS) =
  List.foldl (fn ((due, _), least) => if due < least then due else least) (#1 (hd held)) held;
fun leaving (held : TIMEDS, now) = map #2 (List.filter (fn (due, _) => due <= now) held);
fun staying (held : TIMEDS, now) = List.filter (fn (due, _) => due > now) held;
fun hasPassed (due : INT, now) = due <> ~1 andalso due <= now;
fun valid ([] : SEEN, _) = []
  | valid ((key, due) :: seen, now) =
      if hasPassed (due, now) then valid (seen, now) else (key, due) :: seen;
fun isNew (seen, key, now) =
  List.all (fn (k, due) => not (alike (k, key)) orelse hasPassed (due, now)) (valid (seen, now));
fun record (seen, key, due, now) =
  if isNew (seen, key, now)
  then List.filter (fn (k, _) => not (alike (k, key))) (valid (seen, now)) ^^ [(key, due)]
  else valid (seen, now);
fun earlier ((d, s, g, _, _) : ENTRY, (d', s', g', _, _) : ENTRY) =
  d < d' orelse (d = d' andalso (s < s' orelse (s = s' andalso g < g')));
fun arm ([] : AGENDA, entry) = [entry]
  | arm (x :: xs, entry) = if earlier (entry, x) then entry :: x :: xs else x :: arm (xs, entry);
fun disarm (agenda : AGENDA, node, instance) =
  List.filter (fn (_, _, _, n, i) => not (n = node andalso i = instance)) agenda;
fun isDue ([] : AGENDA, _) = false | isDue ((due, _, _, _, _) :: _, now) = due <= now;
fun origin (agenda : AGENDA) = #3 (hd agenda);
fun node (agenda : AGENDA) = #4 (hd agenda);
fun instance (agenda : AGENDA) = #5 (hd agenda);
""".strip()


def _event(kind: str, time: int, attributes: tuple[tuple[str, Value], ...]) -> Event:
    return Event(kind, time, dict(attributes))


def _attr(event: Event, name: str) -> Value:
    return event.values_.get(name)


def _attr_of(binding: Binding, tag: str, name: str) -> Value:
    event = dict(binding).get(tag)
    return event.values_.get(name) if isinstance(event, Event) else None


def _attr_at(binding: Binding, tag: str, place: int, name: str) -> Value:
    events = dict(binding).get(tag)
    is_there = isinstance(events, tuple) and place < len(events)
    return events[place].values_.get(name) if is_there else None  # type: ignore[index, union-attr]


def _strict(function: Callable[..., Value]) -> Callable[..., Value]:
    """Null of a null."""
    return lambda *values: None if None in values else function(*values)


def _and3(left: Value, right: Value) -> Value:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or3(left: Value, right: Value) -> Value:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _one_of(value: Value, items: tuple[Value, ...]) -> Value:
    found: Value = False
    for item in items:
        found = _or3(found, _strict(OPERATORS["="])(value, item))
    return found


def _widened(symbol: str) -> Callable[..., Value]:
    apply = arithmetic(symbol, DOUBLE)
    return _strict(lambda x, y: apply(float(x), float(y)))


Sum = tuple[int, Value]
Values = tuple[Value, ...]


def _sum_in(fit: Callable[..., Value], state: Sum, value: Value) -> Sum:
    count, total = state
    return state if value is None else (count + 1, fit(total + value))  # type: ignore[operator]


def _sum_out(fit: Callable[..., Value], zero: Value, state: Sum, value: Value) -> Sum:
    count, total = state
    if value is None:
        return state
    return count - 1, fit(total - value) if count > 1 else zero  # type: ignore[operator]


def _average(state: Sum) -> Value:
    return state[1] / state[0] if state[0] else None  # type: ignore[operator]


def _enter_sorted(values: Values, value: Value) -> Values:
    if value is None:
        return values
    before = sum(1 for v in values if sort_key(v) <= sort_key(value))
    shown = value + 0.0 if isinstance(value, float) else value
    return (*values[:before], shown, *values[before:])


def _leave_first(values: Values, value: Value) -> Values:
    for place, each in enumerate(values):
        if same(each, value) or each == value:
            return values[:place] + values[place + 1 :]
    return values


def _keep(symbol: str, values: Values, value: Value) -> Values:
    if not values:
        return (value,)
    if value is None or (values[0] is not None and not OPERATORS[symbol](value, values[0])):
        return values
    return (value,)


def _same(value: object) -> object:
    return value


_TYPES: dict[str, tuple[DataType, Value]] = {
    "Int": (INT, 0),
    "Long": (LONG, 0),
    "Double": (DOUBLE, 0.0),
}
_COMPUTED: dict[str, Callable[..., object]] = {
    **dict.fromkeys(("S", "R", "B", "One", "Many"), _same),
    "event": _event,
    "attr": _attr,
    "attrOf": _attr_of,
    "attrAt": _attr_at,
    "truth": lambda value: value is True,
    "not": lambda value: not value,
    "isNull": lambda value: value is None,
    "not3": _strict(lambda value: not value),
    "and3": _and3,
    "or3": _or3,
    "is": same,
    "oneOf": _one_of,
    "divide": _strict(divide),
    "remainder": _strict(arithmetic("%", LONG)),
    "countIn": lambda count, value: count + (value is not None),
    "countOut": lambda count, value: count - (value is not None),
    "attrsOf": lambda outputs: outputs[0][1],
    "millis": lambda now: now // 1000,
    "toDouble": _strict(float),
    "sumOf": lambda state: state[1] if state[0] else None,
    "avgOf": _average,
    "enterSorted": _enter_sorted,
    "leaveFirst": _leave_first,
    "enterLast": lambda values, value: (*values, value),
    "firstOf": lambda values: values[0] if values else None,
    "lastOf": lambda values: values[-1] if values else None,
    "keepFirst": lambda values, value: values or (value,),
    "keepLast": lambda _, value: (value,),
    "keepMin": partial(_keep, "<"),
    "keepMax": partial(_keep, ">"),
}
for _name, _symbol in (
    ("eq", "="),
    ("ne", "!="),
    ("lt", "<"),
    ("le", "<="),
    ("gt", ">"),
    ("ge", ">="),
):
    _COMPUTED[_name] = _strict(OPERATORS[_symbol])
for _title, (_type, _zero) in _TYPES.items():
    _fit = rounding(_type)
    _COMPUTED[f"enter{_title}"] = partial(_sum_in, _fit)
    _COMPUTED[f"leave{_title}"] = partial(_sum_out, _fit, _zero)
    for _name, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*")):
        _typed = _widened(_symbol) if _type == DOUBLE else _strict(arithmetic(_symbol, _type))
        _COMPUTED[f"{_name}{_title}"] = _typed

# Those that translated patterns call have the same names here.
_OF_PATTERNS = (
    f.BIND,
    f.OVERRIDE,
    f.COLLECT,
    f.CLOSE,
    f.IS_OPEN,
    f.COMBINE,
    f.ADD_TRUTH,
    f.ONLY_TRUTH,
    f.ITEM,
    f.MEMBER,
    f.APPEND,
    f.INTEGER,
    f.OF_COUNT,
    f.OF_SUM,
    f.OF_VALUES,
    f.TO_COUNT,
    f.TO_SUM,
    f.TO_VALUES,
    f.INSERT,
    f.FIRST_DUE,
    f.LEAVING,
    f.STAYING,
    f.RECORD,
    f.IS_NEW,
    f.LENGTH,
    f.HEAD,
    f.TAIL,
    f.ARM,
    f.DISARM,
    f.IS_DUE,
    f.ORIGIN,
    f.NODE,
    f.INSTANCE,
)
FUNCTIONS: dict[str, Function] = {
    **{name: Function(name, compute) for name, compute in _COMPUTED.items()},
    **{function.name: function for function in _OF_PATTERNS},
}
