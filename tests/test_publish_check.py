"""make publish-check: each address that fails, and what a reader would miss."""

import subprocess

import pytest

from tests.conftest import serve
from tools import publish_check as check


@pytest.fixture
def repository(tmp_path):
    def git(*command):
        subprocess.run(["git", "-C", tmp_path, *command], check=True, capture_output=True)

    git("init", "--initial-branch", "main")
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    git(*name, "commit", "--allow-empty", "--message", "first")
    return tmp_path.as_uri()


def test_a_branch_is_found_or_said_to_be_missing(repository):
    assert check.no_branch(repository, "main") == ""
    assert check.no_branch(repository, "other") == "there is no such branch"
    assert "not appear to be a git repository" in check.no_branch(repository + "/nowhere", "main")


def test_a_page_is_found_or_said_to_be_missing(tmp_path):
    (tmp_path / "here").write_text("yes")
    server = serve(tmp_path)
    address = f"http://127.0.0.1:{server.server_port}/"
    assert check.no_page(address + "here") == ""
    assert "404" in check.no_page(address + "there")
    server.shutdown()
    server.server_close()
    assert "refused" in check.no_page(address)


def test_what_fails_is_said_and_the_exit_status_tells(monkeypatch, capsys):
    monkeypatch.setattr(check, "no_branch", lambda *_: "not found")
    monkeypatch.setattr(check, "no_page", lambda address: "" if address == check.SITE else "404")
    with pytest.raises(SystemExit) as stop:
        check.main()
    assert "placeholder" in capsys.readouterr().out
    assert stop.value.code == (
        f"branch main of {check.ADDRESS}: the first cell of every notebook cannot install"
        " hydra_lib; the buttons 'Repository', 'Suggest edit' and 'Open issue' of every page lead"
        " nowhere.\n  (not found)\n"
        f"{check.ADDRESS}/blob/main/notebooks/01_aggregation.ipynb: the rocket of every chapter"
        " opens nothing in Colab.\n  (404)"
    )


def test_nothing_fails_when_everything_answers(monkeypatch, capsys):
    monkeypatch.setattr(check, "no_branch", lambda *_: "")
    monkeypatch.setattr(check, "no_page", lambda _: "")
    check.main()
    assert capsys.readouterr().out == f"{check.ADDRESS} and {check.SITE} can be reached.\n"
