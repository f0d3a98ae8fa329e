"""One background job, whatever it does: its folder, its process, its state, and how it is started,
stopped and resumed.
"""
