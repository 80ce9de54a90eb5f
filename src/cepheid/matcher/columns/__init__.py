"""Events as columns of words: batches, types, interned values, and where an attribute is found."""
