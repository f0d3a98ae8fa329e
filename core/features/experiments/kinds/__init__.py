"""Kinds of experiments whose arms are runs: one file each, with its KIND."""
