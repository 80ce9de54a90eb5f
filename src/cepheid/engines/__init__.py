"""The engines that run programs. Each has a name; all give the same rows.

`reference` is the semantics itself, `local` is what `cep.run` and `cep.open` use.
"""
