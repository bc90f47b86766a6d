"""Word processors, presentations and spreadsheets, of Microsoft and of OpenDocument."""
