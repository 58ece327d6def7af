"""What each framework accepts: readers with positions, catalogs of facts by version, typed models."""
