"""Programs that run over Arrow: batches of events in, tables of rows out.

`operator.py` is the one face of all forms; `interpreted.py` is the reference semantics behind it.
"""
