"""A reader of the tables: flags, keys and their history, and known defects, in words."""
