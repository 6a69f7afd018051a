/** Elements made in one expression; text is text, never markup. */

type Child = Node | string | undefined | false;
type Props = Readonly<Record<string, string | number | boolean | undefined | EventListener>>;

export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), props, children);
}

const svgNamespace = "http://www.w3.org/2000/svg";

export function s<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  props: Props = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS(svgNamespace, tag), props, children);
}

/** Names that begin with `on` are listeners; `true` is an attribute without a value. */
function fill<E extends Element>(element: E, props: Props, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** Put something else in the place of all that is there. */
export function show(place: Element, ...children: readonly Child[]): void {
  place.replaceChildren(...children.filter((child) => child !== undefined && child !== false));
}

/** `1 234`, for columns that are read. */
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f");
}

/** `850 ms`, `2.4 s`, `12 min`, `3 h`. */
export function span(ms: number): string {
  const sign = ms < 0 ? "−" : "";
  const size = Math.abs(ms);
  if (size < 1_000) return `${sign}${Math.round(size)} ms`;
  if (size < 100_000) return `${sign}${trim(size / 1_000)} s`;
  if (size < 7_200_000) return `${sign}${trim(size / 60_000)} min`;
  return `${sign}${trim(size / 3_600_000)} h`;
}

export function time(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

function trim(value: number): string {
  return value >= 10 ? String(Math.round(value)) : String(Math.round(value * 10) / 10);
}
