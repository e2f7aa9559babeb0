"""The tools that the model is offered. Each use is planned first, so that what is asked is what is done."""
