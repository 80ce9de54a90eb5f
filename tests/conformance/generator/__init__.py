"""The one generator of programs and streams, as text: a small grammar with weights.

A program has up to four statements over the input types A, B and C, some of which hold records and
arrays, the declared type D and what earlier statements derive. Everything is small: few values, many equal instants, few rows. Options of
a choice stand with the simplest first, as failures shrink towards it; what stands twice is likelier.

What an expression may name is asked of the program so far, which is resolved before each statement:
so all that is drawn is well typed, and no rule of typing is written down here again.
"""

from tests.conformance.generator.expressions import Expressions
from tests.conformance.generator.programs import EnoughExamples, different, examples

__all__ = ["EnoughExamples", "Expressions", "different", "examples"]
