#!/usr/bin/env python3
"""`stint bill --format focus` under the FinOps Foundation's validator, rules of FOCUS 1.0. Usage: test_focus_validator.py STINT SOURCE.

Skipped without the validator: scripts/setup-focus-validator fetches it into build/focus-validator; FOCUS_VALIDATOR names another.

What it finds is exactly what docs/formats.md lists as its quirks. Then the same rows under the names it looks for, with account ids that it
cannot take for numbers: its missing list of currencies and its column of before 1.0 are left.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
# Names of FOCUS before 1.0, which its rules of 1.0 still have.
NAMES = {"ProviderName": "Provider", "PublisherName": "Publisher", "InvoiceIssuerName": "InvoiceIssuer", "ResourceId": "ResourceID"}
# The package comes without the file of currencies that this rule reads.
NO_CURRENCIES = {"BillingCurrency_IsCurrencyCode"}
# This one reads ChargeType, which 1.0 has not.
NO_CHARGE_TYPE = {"SkuPriceId_Nullable"}
QUIRKS = {f"{name}_Required" for name in NAMES.values()} | NO_CURRENCIES | NO_CHARGE_TYPE
# It reads the file without types: a column of digits alone is numbers to it.
DIGITS = {"SubAccountId_IsString", "BillingAccountId_IsString", "InvoiceId_IsString"}


def failures(validator, path):
    done = subprocess.run([validator, "--data-file", str(path), "--validate-version", "1.0"], capture_output=True, text=True, check=False)
    assert "Validation" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    return set(re.findall(r"^(\w+) failed:$", done.stdout, re.MULTILINE)), done.stdout


def check(validator, text, folder):
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) > 100, len(rows)
    assert all(re.fullmatch("[A-Z]{3}", row["BillingCurrency"]) for row in rows)
    written = folder / "focus.csv"
    written.write_text(text, encoding="utf-8")
    found, said = failures(validator, written)
    assert QUIRKS <= found <= QUIRKS | DIGITS, said
    renamed = folder / "renamed.csv"
    with renamed.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, [NAMES.get(name, name) for name in rows[0]])
        writer.writeheader()
        for row in rows:
            for column in ("SubAccountId", "BillingAccountId", "InvoiceId"):
                row[column] = row[column] and "id-" + row[column]
            writer.writerow({NAMES.get(name, name): value for name, value in row.items()})
    found, said = failures(validator, renamed)
    assert found == NO_CURRENCIES | NO_CHARGE_TYPE, said
    # The check of the check: a row without a provider is found.
    broken = folder / "broken.csv"
    broken.write_text(renamed.read_text(encoding="utf-8").replace(",Usage,", ",Use,", 1).replace(",Compute,", ",Computers,", 1), encoding="utf-8")
    found, said = failures(validator, broken)
    assert "ServiceCategory_Enum" in found, said


def main():
    stint, source = sys.argv[1], pathlib.Path(sys.argv[2])
    validator = os.environ.get("FOCUS_VALIDATOR") or str(source / "build/focus-validator/bin/focus-validator")
    if not os.path.exists(validator):
        print("no FOCUS validator: scripts/setup-focus-validator fetches it")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for story in ("agency", "platform"):
            history = folder / f"{story}.db"
            subprocess.run([stint, "demo", story, "--history", history], check=True, capture_output=True)
            for basis in ("effective", "billed"):
                text = subprocess.run([stint, "bill", "--history", history, "--month", "2026-10", "--format", "focus", "--basis", basis],
                                      check=True, capture_output=True, text=True).stdout
                check(validator, text, folder)
                print(f"{story}, {basis}: {text.count(chr(10)) - 1} rows, only the listed quirks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
