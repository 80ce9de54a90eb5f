"""Importing this compiles all that is compiled, or loads it where that was done before."""

import cepheid.matcher.lanes.operator
import cepheid.matcher.machine.operator
import cepheid.matcher.vm.lanes.sort_ties  # noqa: F401
