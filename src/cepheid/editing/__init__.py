"""What editors ask of programs: changes of a tree as edits of its text, names and where they stand, completion."""
