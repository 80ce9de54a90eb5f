"""Why a statement gave no row: the least that would have to be otherwise for it to give one."""
