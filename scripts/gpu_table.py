"""What is measured, as rows of a JSON file."""
import datetime
import json
import os


class Table:
    """A list of rows in a JSON file, written anew with each row: a run that is cut short keeps what it has."""

    def __init__(self, path, commit):
        self.path, self.commit, self.rows = path, commit, []

    def add(self, row):
        self.rows.append(row | {"date": datetime.date.today().isoformat(), "commit": self.commit})
        print(json.dumps(self.rows[-1]), flush=True)
        with open(self.path + ".new", "w") as f:
            f.write("[\n  " + ",\n  ".join(map(json.dumps, self.rows)) + "\n]\n")
        os.replace(self.path + ".new", self.path)
