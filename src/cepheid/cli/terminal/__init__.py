"""What the commands print: tables, trees, progress, findings, help."""
