"""What touches the world, one file per kind: log, table, file, command, web hook, mail, function.

Each kind reads its own settings (`read`) and is told everything else: time, secrets, the action.
"""
