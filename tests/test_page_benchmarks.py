"""What measures the built book: from any folder, and never a book that is not there."""

import subprocess
import sys

import page
import pytest
import shares

from tests.conftest import ROOT


def test_without_a_book_no_record_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "SITE", tmp_path)
    monkeypatch.setattr(page, "write", lambda *_: pytest.fail("a record of nothing was written"))
    monkeypatch.setattr(shares, "PAGES", [])
    for main in (lambda: page.main(store=True), shares.main):
        with pytest.raises(SystemExit, match=r"^the book must be built \(make book\)"):
            main()


@pytest.mark.long
@pytest.mark.parametrize("script", ["page", "shares"])
def test_from_another_folder(script, tmp_path):
    code = f"import runpy; runpy.run_path('{ROOT / 'benchmarks' / script}.py')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
