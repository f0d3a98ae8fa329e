"""What every room may import: the contract of features, and the form of a result."""
