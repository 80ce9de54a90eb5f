"""The engines that run programs, a folder each; all give the same rows. `registry` knows them all."""
