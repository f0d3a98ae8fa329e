"""One background job, whatever it does: its folder, its process, its state, and how it is started,
stopped and resumed.

folder    JobFolder: the files that a job and those who watch it share
process   which process is on a job: an id alone is given to another process later
state     what a folder shows: live, ended, or crashed; the lock that one process holds
start     a process apart, and never a second one
work      what the process itself does: lock, heartbeats, how it ended
"""
