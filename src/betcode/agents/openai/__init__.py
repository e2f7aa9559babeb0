"""An agent program for OpenAI-compatible APIs: `python -m betcode.agents.openai`.

It speaks the Agent Client Protocol on stdio, has a model take steps until it has nothing left to do, runs the few
tools that it offers (read, glob, grep, edit, write, shell), and keeps the conversation in a file so that another
process of it can go on exactly there. Whether a tool may be used is not decided here: whatever changes or executes
something is asked, and so is reading outside the project. There is no sandbox.
"""
