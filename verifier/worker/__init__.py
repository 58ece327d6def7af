"""The process that one framework runs in: what it is asked to do, and what every framework's side shares."""
