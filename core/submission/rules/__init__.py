"""What a submission must be: one small function a rule, by what it looks at."""
