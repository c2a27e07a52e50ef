"""Reports on results: tables, plots, comparisons and pages."""
