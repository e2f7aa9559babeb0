"""An agent program for OpenAI-compatible APIs: `python -m betcode.agents.openai`.

It speaks the Agent Client Protocol on stdio, calls a model until the model is done, runs the few tools that it offers
(read, glob, grep, edit, write, shell), and stores the conversation in a file, so that another process can continue it.
It does not decide about permissions: it asks for everything that changes or executes something, and for reading outside
the project. There is no sandbox.
"""
