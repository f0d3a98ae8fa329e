"""A job whose process is dead is shown as crashed, with its cause and a button, by the first visit of its page and of Overview.

What a run's page shows beside that: tests/features/predicting/test_run_list.py.
"""

from __future__ import annotations

import pytest

from core.runs.jobs import control
from core.runs.jobs.control import kinds
from core.runs.jobs.state import NO_REASON, is_held, record_ending
from core.runs.workspace import Workspace
from core.ui import job_panel, shell
from tests.runs.jobs.crashed import MAKERS, SAID
from tests.runs.jobs.started import counted
from tests.ui.conftest import Visit
from tests.ui.test_apptest import press, text_of

pytestmark = pytest.mark.soak
# A fine-tune has none: Overview says that it crashed, and the command resumes it.
WITH_PAGE = sorted(kind for kind in MAKERS if kinds()[kind].page)


@pytest.mark.parametrize("kind", WITH_PAGE)
def test_the_first_visit_says_that_it_crashed_and_why(
    visit: Visit, small_workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    MAKERS[kind](small_workspace)
    overview = visit(small_workspace, "overview")
    [job] = control.list_jobs(small_workspace, [kind])
    links = [
        link.proto
        for link in overview.get("page_link")
        if link.proto.label.startswith((kinds()[kind].title, "crashed"))
    ]
    assert {link.page for link in links} == {job.page}
    assert NO_REASON in text_of(overview).replace("\\", "")
    drawn = watched(monkeypatch)
    app = visit(small_workspace, job.page, **{"dataset": "bmdm", **job.view})
    [bar] = [element.proto.text.replace("\\", "") for element in app.main.get("progress")]
    assert bar.startswith("crashed; can be resumed")
    assert [error.value.replace("\\", "") for error in app.error] == [job.cause]
    assert SAID in text_of(app)
    assert not any(drawn)  # it is over: nobody asks again and again
    resumed = []
    monkeypatch.setattr(control, "resume", lambda _, asked, by=None: resumed.append(asked))  # noqa: ARG005
    app = press(app, "Resume")
    assert [each.key for each in resumed] == [job.key]


# Without the experiment: that of `crashed` are of an imported run, which is never asked.
@pytest.mark.parametrize("kind", sorted({*WITH_PAGE} - {"experiment"}))
def test_a_second_click_on_resume_starts_nothing_and_says_why(
    visit: Visit, small_workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = MAKERS[kind](small_workspace)
    [job] = control.list_jobs(small_workspace, [kind])
    first, second = (
        visit(small_workspace, job.page, **{"dataset": "bmdm", **job.view}) for _ in range(2)
    )
    with counted(monkeypatch, kind) as processes:
        press(first, "Resume")
        assert [error.value for error in first.error] == []
        [process] = processes
        assert is_held(folder)
        second.button(key=f"Resume-{job.key}").click().run()  # which shows the button still
        said = f"job {job.title}: process {process.pid} is working on it, expected one that ended early and can be resumed"
        assert [error.value.replace("\\", "") for error in second.error] == [said]
        assert "Resume" not in [
            button.label for button in second.button
        ]  # the panel is drawn as the job is now
        assert processes == [process]
        assert process.poll() is None
        monkeypatch.setattr(job_panel, "_REFUSED_S", 0.0)  # a while later
        for app in (first.run(), second.run()):
            assert "Resume" not in [button.label for button in app.button]
            assert not app.error


def watched(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How often each part of a page that runs by itself is drawn again, in seconds, as the page makes them."""
    drawn = []
    make_fragment = shell.fragment

    def record(draw: object, every_s: float | None = None) -> object:
        drawn.append(every_s)
        return make_fragment(draw, every_s)  # type: ignore[arg-type]

    monkeypatch.setattr(shell, "fragment", record)
    return drawn


def test_a_done_one_needs_no_attention(visit: Visit, small_workspace: Workspace) -> None:
    record_ending(MAKERS["targets"](small_workspace), "done")
    assert "target ranking" not in text_of(visit(small_workspace, "overview"))
