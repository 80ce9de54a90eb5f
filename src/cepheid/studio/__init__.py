"""The studio: a page in the browser on one's own machine, over the verbs that Python and the command line have.

    page --message--> conversation --verb--> lane --process--> handler --answer--> page

A message names a verb and what it is given; `handlers` has a file for each verb. What may take long is
done by a process of its own (`lane.py`), which can be stopped. The page is in `page` as TypeScript, and
in `bundle` as it is shipped.
"""
