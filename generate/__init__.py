"""Makes what is compiled from the tables: modules, pages, schemas. For developers and the build; never installed."""
