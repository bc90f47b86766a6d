"""PDF: its pages, text layer, embedded images and properties."""
