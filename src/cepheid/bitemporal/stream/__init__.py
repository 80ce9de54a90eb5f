"""Rounds over what comes in batches, one after the other, with all that is known in a folder.

`sink` takes a batch: `arrivals` turns records into detections, `clock` says which rounds are over, `tables`
and `keeping` hold what they give and what the next batch needs, `manifest` says what the folder holds,
and `disk` makes files that appear whole or not at all.
"""
