"""Why a statement gave no row, beside what a search of all its variants finds."""
