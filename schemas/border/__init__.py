"""The border of accmap: one function opens what comes in, one writer a format lets text out, one function writes files.

What strangers can put into a file, a name or a message is dealt with here, and nowhere else.
"""
