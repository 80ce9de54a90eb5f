"""Rounds over what comes in batches, one after the other, with all that is known in a folder.

sink      a batch: what it brings, the rounds that it closes, and what they leave in the folder
arrivals  records into detections, what is late, and what is rejected
clock     the watermark, and the rounds that it closes
tables    actions, changes, versions and state as tables
manifest  what the folder holds after a batch
disk      files that appear whole or not at all
reading   what others read in the folder
"""
