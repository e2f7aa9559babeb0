"""Cards that show an agent's permission requests and questions, answered with one key."""
