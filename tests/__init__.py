"""The tests of Cepheid."""
