"""The commands of `cepheid web`: wrappers of pages, checked, laid out, tried and run."""
