"""`cepheid jobs`, a file per group of commands, and what runs in the process of a job."""
