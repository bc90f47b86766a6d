"""From elements to pages and sections, and from these to text with exact offsets."""
