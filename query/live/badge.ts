import { type BadgeQuery, COLOR_NAMES } from './live-api.ts';

/** Widths of characters in Verdana at 11 pixels, by class. A badge is only some pixels wider than its text. */
const NARROW = /[ijlI.,:;'|!]/;
const WIDE = /[mwMW@%]/;
const WIDTHS = { narrow: 4.2, usual: 7, wide: 10.6, other: 11 };
const PADDING = 6;
const HEIGHT = 20;
const UNKNOWN = '–';

/** A badge with a label and a number; a dash for an unknown number. */
export function badgeSvg(visitors: number | undefined, { label, color, style }: BadgeQuery): string {
  const value = visitors === undefined ? UNKNOWN : visitors.toLocaleString('en');
  const left = Math.ceil(widthOf(label) + 2 * PADDING);
  const right = Math.ceil(widthOf(value) + 2 * PADDING);
  const all = left + right;
  const fill = colourOf(color);
  const isFlat = style === 'flat';
  const title = `${escapedXml(label)}: ${escapedXml(value)}`;
  const shade = isFlat
    ? '<linearGradient id="s" x2="0" y2="100%"><stop offset="0" stop-color="#fff" stop-opacity=".12"/><stop offset="1" stop-opacity=".12"/></linearGradient>'
    : '';
  const over = isFlat ? `<rect width="${all}" height="${HEIGHT}" fill="url(#s)"/>` : '';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${all}" height="${HEIGHT}" role="img" aria-label="${title}"><title>${title}</title>${shade}<clipPath id="c"><rect width="${all}" height="${HEIGHT}" rx="${isFlat ? 3 : 0}"/></clipPath><g clip-path="url(#c)"><rect width="${left}" height="${HEIGHT}" fill="#444b54"/><rect x="${left}" width="${right}" height="${HEIGHT}" fill="${fill}"/>${over}</g><g text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="${left / 2}" y="14" fill="#fff">${escapedXml(label)}</text><text x="${left + right / 2}" y="14" fill="${inkOn(fill)}">${escapedXml(value)}</text></g></svg>`;
}

/** A text as XML and as HTML, in an attribute as well. Characters that XML cannot contain are left out. */
export function escapedXml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function widthOf(text: string): number {
  return [...text].reduce((width, sign) => {
    if (NARROW.test(sign)) return width + WIDTHS.narrow;
    if (WIDE.test(sign)) return width + WIDTHS.wide;
    return width + (sign.charCodeAt(0) < 0x250 ? WIDTHS.usual : WIDTHS.other);
  }, 0);
}

function colourOf(color: string): string {
  const name = color.toLowerCase();
  if (isName(name)) return COLOR_NAMES[name];
  const digits = name.replace('#', '');
  return `#${digits.length === 3 ? digits.replace(/./g, '$&$&') : digits}`;
}

function isName(name: string): name is keyof typeof COLOR_NAMES {
  return Object.hasOwn(COLOR_NAMES, name);
}

/** Black or white, whichever contrasts more. */
function inkOn(fill: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((from) => Number.parseInt(fill.slice(from, from + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  // At this luminance both have the same contrast.
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff';
}
