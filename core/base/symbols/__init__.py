"""Read gene symbols and names of perturbations as laboratories write them."""
