"""The message input: multiple lines, history, completion, attachments and drafts."""
