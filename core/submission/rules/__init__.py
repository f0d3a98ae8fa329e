"""The rules for submissions: one small function per rule, in modules by what the rules look at."""
