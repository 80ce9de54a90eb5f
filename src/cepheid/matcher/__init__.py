"""Programs that run over Arrow: batches of events in, tables of rows out.

`operator.py` is the one face of all forms. Behind it stand the virtual machine (`compiling/` makes its
programs, `machine/` runs them, `vm/` is what is compiled), statements that take whole batches
(`lanes/`), and the reference semantics (`reference.py`) for what these leave out.
"""
