"""Results for people: tables now, plots and pages later; heavy imports stay inside."""
