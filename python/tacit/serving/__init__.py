"""Private prediction as a service: parties that stay up, and clients that are none.

A party serves HTTP (`serve.py`, `app.py`, `routes.py`) for the models that it runs with the other
parties (`runner.py`). A client (`client.py`) shares its input among them and puts the answers
together. Nothing here sees an input or an answer: bodies are shares, and they are not logged.
"""
