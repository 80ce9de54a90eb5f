"""The engine `maude`: the real Maude rewrites a program's specification."""
