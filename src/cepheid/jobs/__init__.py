"""Jobs: streams and batches in processes of their own, with a record on disk.

They outlive whoever starts them. A folder has a record of each: its program, its command, how it is,
how far it is, its latest rows and what it printed.

    jobs = cep.jobs.Jobs(".cepheid/jobs")
    job = jobs.start(["stream", "alarms.epl", "--source", "files:in", "--checkpoint", "state"])
    jobs.job(job.name).state, job.latest
    jobs.stop(job.name)
"""

from cepheid.jobs.jobs import DEFAULT_FOLDER as DEFAULT_FOLDER
from cepheid.jobs.jobs import Jobs as Jobs
from cepheid.jobs.jobs import Listing as Listing
from cepheid.jobs.record import Job as Job
from cepheid.jobs.record import Progress as Progress
from cepheid.jobs.record import State as State
from cepheid.jobs.record import Status as Status
