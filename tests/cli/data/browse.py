"""Opens a report's page in headless Chromium, through its debugging pipe, and looks at it as a person would.

browse.py [--time] PAGE.html [--screenshot FILE.png] [ELEMENT X Y]...    the tooltip at X, Y (shares of 0 to 1) of each element

Prints how the page introduces itself and each tooltip; with --time first, how long it took to be ready. Any error on
the console, or an exception, fails.
"""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()

        def fds():  # it reads from 3 and writes to 4
            reads, writes = (fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser, from_browser))
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--window-size=1240,1400", f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=fds, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.errors, self.session = b"", 0, [], None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.read_fd, 1 << 20)
            assert more, "the browser has gone"
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def ask(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(answer["params"])

    def value(self, expression):
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def hover(browser, element, x, y):
    browser.value(f"document.getElementById('{element}').scrollIntoView()")
    box = browser.value(f"(r => [r.x, r.y, r.width, r.height])(document.getElementById('{element}').getBoundingClientRect())")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + x * box[2], y=box[1] + y * box[3])
    return browser.value("document.getElementById('tip').textContent")


def look(browser, page, screenshot, places):
    browser.ask("Page.navigate", url="file://" + os.path.abspath(page))
    for _ in range(900):
        ready = browser.value("document.documentElement.dataset.ready")
        if ready or browser.errors:
            break
        time.sleep(0.1)
    assert ready, browser.errors or "the page never was ready"
    print(browser.value("document.getElementById('what').textContent"))
    for element, x, y in places:
        print(f"{element} {x} {y}:", hover(browser, element, float(x), float(y)).replace("\n", " | "))
    if screenshot:
        browser.value("scrollTo(0, 0)")
        image = browser.ask("Page.captureScreenshot", format="png")["data"]
        with open(screenshot, "wb") as file:
            file.write(base64.b64decode(image))
    return ready


def main(arguments):
    is_timed = arguments[0] == "--time"
    page, *rest = arguments[is_timed:]
    screenshot = None
    if rest[:1] == ["--screenshot"]:
        screenshot, rest = rest[1], rest[2:]
    try:
        browser = Browser()
    except (AssertionError, OSError) as error:
        print("no browser that can be started:", error, file=sys.stderr)
        return 77  # the tests' word for skipped
    try:
        ready = look(browser, page, screenshot, list(zip(rest[::3], rest[1::3], rest[2::3])))
        if is_timed:
            print(f"ready after {ready} ms")
        assert not browser.errors, browser.errors
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
