"""The pages of one perturbation and of one target gene."""
