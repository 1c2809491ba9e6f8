// What a browser finds in the page in each frame: how wide it is, what it asked for, and how well its texts can be
// read. Run in the page around them, since the page itself allows no script.

function channels(colour) {
  const found = colour.match(/[\d.]+/g).map(Number);
  return { rgb: found.slice(0, 3), alpha: found.length > 3 ? found[3] : 1 };
}

function luminance(rgb) {
  const linear = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function ground(view, element) {
  for (let at = element; at; at = at.parentElement) {
    const { rgb, alpha } = channels(view.getComputedStyle(at).backgroundColor);
    if (alpha === 1) return rgb;
    if (alpha !== 0) throw new Error("a ground that lets another through is not measured");
  }
  return [255, 255, 255];
}

function faint(view, page) {
  const poor = [];
  let least = 21, texts = 0;
  const walk = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["TITLE", "STYLE", "SCRIPT"].includes(element.tagName.toUpperCase())) continue;
    const style = view.getComputedStyle(element);
    const ink = channels(element.closest("svg") ? style.fill : style.color).rgb;
    const found = contrast(ink, ground(view, element));
    texts += 1;
    least = Math.min(least, found);
    if (found < 4.5) poor.push(`${found.toFixed(2)} ${element.className.baseVal ?? element.className}: ${node.data.trim()}`);
  }
  return { poor, least, texts };
}

function drawnTooSmall(page) {
  const sizes = [...page.querySelectorAll(".drawn text")].map((text) => {
    const drawn = text.closest("svg");
    return parseFloat(getComputedStyle(text).fontSize) * (drawn.getBoundingClientRect().width / drawn.viewBox.baseVal.width);
  });
  return sizes.length ? Math.min(...sizes) : null;
}

function look(frame) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const wide = page.scrollingElement;
  return {
    width: wide.clientWidth,
    scroll_width: wide.scrollWidth,
    asked_for: view.performance.getEntriesByType("resource").map((entry) => entry.name),
    is_dark: luminance(ground(view, page.body)) < 0.2,
    plots: page.querySelectorAll("svg.drawn").length,
    lost: [...page.querySelectorAll('a[href^="#"]')].filter((a) => !page.getElementById(a.hash.slice(1))).length,
    outside: [...page.querySelectorAll(".drawn text")].filter((text) => {
      const box = text.getBoundingClientRect(), drawn = text.closest("svg").getBoundingClientRect();
      return box.left < drawn.left - 1 || box.right > drawn.right + 1 || box.bottom > drawn.bottom + 1;
    }).map((text) => text.textContent),
    smallest: drawnTooSmall(page),
    ...faint(view, page),
  };
}

window.addEventListener("load", () => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    try { return look(frame); } catch (error) { return { error: String(error) }; }
  });
  document.getElementById("found").textContent = JSON.stringify(found);
});
