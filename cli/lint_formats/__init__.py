"""How `accmap lint` writes its findings: one module a format, imported only when it is asked for."""
