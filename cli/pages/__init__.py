"""Pages and pictures for people: self-contained HTML and SVG, and plots for a terminal."""
