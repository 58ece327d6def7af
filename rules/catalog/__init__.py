"""Rules by topic: the entries of a topic (`network.yaml`), beside the functions of those that do more than compare."""
