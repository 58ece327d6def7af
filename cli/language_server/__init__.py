"""The server that an editor starts: files that it has open, findings, hover texts and completions."""
