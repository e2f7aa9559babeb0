"""SQL of prompts, grants and the audit."""
