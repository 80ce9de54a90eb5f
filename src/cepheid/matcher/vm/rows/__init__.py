"""From matches to rows of the result: windows, groups, aggregates, output rates, sort keys."""
