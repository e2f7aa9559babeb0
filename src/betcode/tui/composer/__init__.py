"""Where people write: several lines, history, completion, attachments, drafts."""
