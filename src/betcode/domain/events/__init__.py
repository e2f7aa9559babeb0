"""Events: size limit, JSON form, display values, and the documents that can be searched."""
