"""Ideas of the published entry, each computed from runs and spaces: one file each, with its KIND."""
