"""Live models: objects that change in transactions, and graph queries whose matches are kept up to date.

from cepheid import live

metamodel = live.Metamodel("cps", (live.Class("Host", (live.Attribute("cpu", live.INT),)),))
queries = live.parse_queries("pattern busy(h : Host) { Host.cpu(h, n); check(n > 90); }", metamodel)
model = live.Model(metamodel)
matcher = live.Matcher(model, queries)
with model.transaction() as change:
    change.create("Host", cpu=95)
matcher.delta.found, matcher.matches("busy")
"""

from cepheid.core.types import BOOLEAN, DOUBLE, FLOAT, INT, LONG, STRING
from cepheid.live.change_files import replay
from cepheid.live.changes import Change, ChangeKind, Commit
from cepheid.live.ecore import load_metamodel, load_model, save_model
from cepheid.live.fixes.objectives import Objective
from cepheid.live.fixes.solutions import Fixes, FixStep, Solution
from cepheid.live.log import Changed, Entry, Fired, Happened, Matched, Outcome, Ran, behind
from cepheid.live.matching.matcher import Delta, Match, Matcher, Violation
from cepheid.live.metamodel import Attribute, Class, Metamodel, Package, Reference
from cepheid.live.model import Model, Object
from cepheid.live.opening import open
from cepheid.live.queries.resolve import check_queries, load_queries, parse_queries
from cepheid.live.queries.resolved import Queries
from cepheid.live.quick_fixes import quick_fixes
from cepheid.live.reference import from_scratch
from cepheid.live.run import Run
from cepheid.live.transaction import Transaction

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "STRING",
    "Attribute",
    "Change",
    "ChangeKind",
    "Changed",
    "Class",
    "Commit",
    "Delta",
    "Entry",
    "Fired",
    "FixStep",
    "Fixes",
    "Happened",
    "Match",
    "Matched",
    "Matcher",
    "Metamodel",
    "Model",
    "Object",
    "Objective",
    "Outcome",
    "Package",
    "Queries",
    "Ran",
    "Reference",
    "Run",
    "Solution",
    "Transaction",
    "Violation",
    "behind",
    "check_queries",
    "from_scratch",
    "load_metamodel",
    "load_model",
    "load_queries",
    "open",
    "parse_queries",
    "quick_fixes",
    "replay",
    "save_model",
]
