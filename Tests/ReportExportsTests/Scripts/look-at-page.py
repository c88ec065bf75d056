"""Opens a page in headless Chromium, and prints what can be seen of it as JSON.

Usage: look-at-page.py CHROMIUM PAGE [FOLDER]

A FOLDER gets pictures of the page.
"""
import json
import pathlib
import sys

from playwright.sync_api import sync_playwright

chromium, path = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
pictures = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

# Every visible text with its colour on its ground, by WCAG's formula; 3 is enough for large text.
CONTRAST = """() => {
  const channel = value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = color => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) =>
    0.2126 * channel(r / 255) + 0.7152 * channel(g / 255) + 0.0722 * channel(b / 255);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const color = numbers(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0, lowest = 21;
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || node.closest("script,title,.hidden,.skip") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const isDrawing = node.closest("svg") !== null;
    const [dark, light] = [luminance(numbers(isDrawing ? style.fill : style.color)), luminance(ground(node))]
      .sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    texts += 1;
    lowest = Math.min(lowest, ratio);
    if (ratio < (isLarge ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${walker.currentNode.data.trim().slice(0, 60)}`);
  }
  return { texts, lowest, found };
}"""

STRUCTURE = """() => {
  const levels = Array.from(document.querySelectorAll("h1,h2,h3,h4,h5,h6")).map(node => Number(node.tagName[1]));
  const isNamed = node => (node.textContent.trim() || node.getAttribute("aria-label") || "").length > 0;
  return {
    title: document.title,
    language: document.documentElement.lang,
    skipped: levels.filter((level, place) => level > (place ? levels[place - 1] : 0) + 1).length,
    mainHeadings: levels.filter(level => level === 1).length,
    namelessLinks: Array.from(document.querySelectorAll("a[href]")).filter(node => !isNamed(node)).length,
    namelessFields: Array.from(document.querySelectorAll("input")).filter(node => !node.labels.length).length,
    deadLinks: Array.from(document.querySelectorAll("a[href]"))
      .filter(node => !document.getElementById(node.getAttribute("href").slice(1))).length,
    scripts: document.scripts.length,
    foreign: document.querySelectorAll("img,iframe,object,embed,link,base,video,audio,foreignObject,[style],[onload],[onerror]")
      .length,
    addresses: Array.from(document.querySelectorAll("[href],[src],[action]"))
      .map(node => node.getAttribute("href") || node.getAttribute("src") || node.getAttribute("action"))
      .filter(address => !address.startsWith("#")),
    injected: typeof window.injected,
    text: document.body.textContent,
  };
}"""

# Whether the newest mark of the timeline can be seen, beside the names of the processes that stay.
NEWEST = """() => {
  const chart = document.querySelector(".latest");
  if (!chart) return null;
  const marks = Array.from(chart.querySelectorAll(".point")).map(node => node.getBoundingClientRect());
  const newest = marks.reduce((last, mark) => mark.right > last.right ? mark : last, marks[0]);
  const [box, names] = [chart, chart.querySelector(".names")].map(node => node.getBoundingClientRect());
  return newest.left >= names.right && newest.right <= box.right + 1 && names.left >= box.left - 1
    && (chart.scrollWidth > chart.clientWidth || innerWidth > 700);
}"""

# Parts of names in stacks that are in two lines, though one would have had room for them.
BROKEN = """() => {
  const found = [];
  for (const code of document.querySelectorAll(".frame .call code")) {
    if (!code.checkVisibility()) continue;
    const room = code.parentElement.clientWidth;
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      for (const match of text.data.matchAll(/\\S+/g)) {
        const range = document.createRange();
        range.setStart(text, match.index);
        range.setEnd(text, match.index + match[0].length);
        const lines = Array.from(range.getClientRects()).filter(line => line.width > 0);
        const width = lines.reduce((sum, line) => sum + line.width, 0);
        if (lines.length > 1 && width < room) found.push(match[0]);
      }
    }
  }
  return found;
}"""

SHOWN = "() => Array.from(document.querySelectorAll('.group')).filter(node => node.checkVisibility()).length"


def watched(context, seen):
    page = context.new_page()
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.on("console", lambda message: seen["complaints"].append(message.text))
    page.on("pageerror", lambda error: seen["complaints"].append(str(error)))
    page.on("dialog", lambda dialog: (seen["complaints"].append("dialog"), dialog.dismiss()))
    page.goto(path.as_uri())
    return page


def look(browser, scheme):
    seen = {"requests": [], "complaints": []}
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1200, "height": 900}, offline=True)
    page = watched(context, seen)
    if pictures:
        page.screenshot(path=pictures / f"{scheme}.png", full_page=True, caret="initial")
    seen["ground"] = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    seen["text"] = page.evaluate("() => getComputedStyle(document.body).color")
    seen["structure"] = page.evaluate(STRUCTURE)
    seen["groups"] = page.evaluate(SHOWN)
    if seen["groups"]:
        page.keyboard.press("/")
        page.keyboard.type("unwrapping router")
        seen["found"] = page.evaluate(SHOWN)
        seen["status"] = page.text_content("#found")
        page.fill("#search", "no report has this")
        seen["foundNothing"] = page.evaluate(SHOWN)
        page.fill("#search", "")
        for box in page.query_selector_all("input[name=verdict]"):
            if box.get_attribute("value") != "terminate":
                box.uncheck()
        seen["terminated"] = page.evaluate(SHOWN)
        for box in page.query_selector_all("input[name=verdict]"):
            box.check()
        target = page.query_selector_all(".report")[-1].get_attribute("id")
        page.evaluate("id => { location.hash = id; }", target)
        page.wait_for_function("id => document.getElementById(id).open", arg=target)
        seen["isRevealed"] = page.is_visible(f"#{target} .stack")
        page.click("#unfold")
    seen["contrast"] = page.evaluate(CONTRAST)
    page.set_viewport_size({"width": 360, "height": 800})
    seen["overflow"] = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    seen["newest"] = page.evaluate(NEWEST)
    seen["broken"] = page.evaluate(BROKEN)
    if pictures:
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("() => scrollTo(0, 0)")
        page.screenshot(path=pictures / f"{scheme}-narrow.png", caret="initial")
        stack = page.query_selector(".stack")
        if stack:
            stack.scroll_into_view_if_needed()
            page.screenshot(path=pictures / f"{scheme}-narrow-stack.png", caret="initial")
    context.close()
    return seen


def look_without_scripts(browser):
    seen = {"requests": [], "complaints": []}
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = watched(context, seen)
    seen["tools"] = page.is_visible("#tools") if page.query_selector("#tools") else False
    seen["stacks"] = len([stack for stack in page.query_selector_all(".stack") if stack.is_visible()])
    summary = page.query_selector_all(".group > details:not([open]) > summary")
    if summary:
        summary[0].click()
        seen["stacksAfterClick"] = len([stack for stack in page.query_selector_all(".stack") if stack.is_visible()])
    page.emulate_media(media="print")
    seen["printedStacks"] = len([stack for stack in page.query_selector_all(".stack") if stack.bounding_box()])
    seen["allStacks"] = len(page.query_selector_all(".stack"))
    context.close()
    return seen


def prove(browser):
    """Shows that what looks for mistakes finds them."""
    seen = {"requests": [], "complaints": []}
    page = browser.new_page(offline=True)
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.on("pageerror", lambda error: seen["complaints"].append(str(error)))
    page.set_content(
        "<body><p style='color:#888;background:#999'>faint</p><p>plain</p><div style='width:4000px'>wide</div>"
        "<img src='http://127.0.0.1:9/x'><script>missing()</script></body>"
    )
    seen["faint"] = page.evaluate(CONTRAST)["found"]
    seen["overflow"] = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    return seen


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    result = {scheme: look(browser, scheme) for scheme in ("light", "dark")}
    result["plain"] = look_without_scripts(browser)
    result["proof"] = prove(browser)
    browser.close()
print(json.dumps(result))
