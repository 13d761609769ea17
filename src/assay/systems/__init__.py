"""Ask a live system under test: Denodo's AI SDK, any HTTP endpoint, any command, any Python callable.

A system is named by a URL whose scheme is its entry point under `assay.systems`, for example
``denodo:http://host:8008/answerDataQuestion`` or ``command:./ask.sh``. Each class has
``open(url, options)`` and implements `assay.ports.System`. Importing this package loads none of them.
"""
