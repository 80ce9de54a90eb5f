"""The SQL of event classes: one dialect with the meaning of Spark's ANSI mode, for every engine."""
