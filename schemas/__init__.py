"""Readers with positions, catalogs of facts by version, and typed models of what each framework accepts."""
