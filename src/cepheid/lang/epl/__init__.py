"""EPL: text into program trees, program trees into text."""
