"""Launch scripts: bash read and evaluated statically; nothing is ever executed."""
