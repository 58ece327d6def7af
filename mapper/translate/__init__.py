"""From one framework's configuration to the other's: target settings, the loss report, and the written text."""
