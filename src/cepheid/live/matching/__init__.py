"""Matches of graph queries, kept up to date from the changes of each transaction.

Everything that a query reads is a *relation*: a set of rows that knows how it is now and how it was
before the transaction at hand (`relations`). A body joins relations. When some of them change, the
rows that come or go are found by starting from what changed and following the other atoms of the
body, each by an index: nothing is computed again, and nothing is kept between the joins (`search`,
`planning`). A row counts as often as bodies support it, so that it goes when its last support does.
"""
