import { PRESET_COLORS } from '../../../widget/presets.ts';

/** The code that puts the widget into other pages. */

/** The looks of the widget, each with its title. */
export const WIDGET_LOOKS = [
  ['number', 'number'],
  ['badge', 'badge'],
  ['sparkline', 'number with the last 30 minutes'],
  ['pages', 'number with the pages that are read'],
] as const;
export type WidgetLook = (typeof WIDGET_LOOKS)[number][0];

/** Colours of the widget that a page may set; each is the CSS property `--live-visitors-` plus this name. */
export const WIDGET_COLORS = ['color', 'background', 'dot', 'line'] as const;
export type WidgetColor = (typeof WIDGET_COLORS)[number];
export type WidgetTheme = Readonly<Partial<Record<WidgetColor, string>>>;

/** The chosen settings of the widget. */
export interface WidgetChoice {
  readonly look: WidgetLook;
  /** Empty: the usual one. */
  readonly label: string;
  readonly theme: WidgetTheme;
}

/** The site that a code is for. */
export interface WidgetPlace {
  /** Address of the service, without a trailing slash. */
  readonly base: string;
  readonly siteId: string;
  /** True if everyone may see the number. Otherwise each code has `TOKEN_WORD` instead of a token. */
  readonly isPublic: boolean;
}

/** Placeholder for a token that the site's server requests. */
export const TOKEN_WORD = 'YOUR_TOKEN';

/** Colours of this look, each with its default; undefined: the colour of the surrounding text. */
export function colorsOf(look: WidgetLook): ReadonlyMap<WidgetColor, string | undefined> {
  if (look === 'badge')
    return new Map([
      ['color', PRESET_COLORS.badgeText],
      ['background', PRESET_COLORS.badgeBackground],
      ['dot', PRESET_COLORS.badgeDot],
    ]);
  return new Map([
    ['color', undefined],
    ...(look === 'number' ? [] : [['dot', PRESET_COLORS.dot] as const]),
    ...(look === 'sparkline' ? [['line', undefined] as const] : []),
  ]);
}

/** The properties that the chosen colours set, of those that the look has. */
export function propertiesOf({ look, theme }: WidgetChoice): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...colorsOf(look).keys()].flatMap((name) => {
      const value = theme[name];
      return value === undefined ? [] : [[`--live-visitors-${name}`, value]];
    }),
  );
}

/** The attributes of the element, apart from a token. */
export function attributesOf(
  { siteId }: Pick<WidgetPlace, 'siteId'>,
  { look, label }: WidgetChoice,
): ReadonlyMap<string, string> {
  return new Map([
    ['site', siteId],
    ...(look === 'number' ? [] : [['look', look] as const]),
    ...(label === '' ? [] : [['label', label] as const]),
  ]);
}

export function elementCode(place: WidgetPlace, choice: WidgetChoice): string {
  const all = [...attributesOf(place, choice), ...(place.isPublic ? [] : [['token', TOKEN_WORD] as const])];
  const attributes = all.map(([name, value]) => ` ${name}="${escaped(value)}"`);
  return `<script async src="${place.base}/widget.js"></script>\n<live-visitors${attributes.join('')}></live-visitors>`;
}

/** The rule for a page's style sheet; undefined where no colour is chosen. */
export function styleCode(choice: WidgetChoice): string | undefined {
  const lines = Object.entries(propertiesOf(choice)).map(([name, value]) => `  ${name}: ${value};\n`);
  return lines.length === 0 ? undefined : `live-visitors {\n${lines.join('')}}`;
}

export function frameCode({ base, siteId, isPublic }: WidgetPlace, { look, label }: WidgetChoice): string {
  const query = new URLSearchParams({
    look,
    ...(label !== '' && { label }),
    ...(!isPublic && { token: TOKEN_WORD }),
  });
  const address = `${base}/live/${encodeURIComponent(siteId)}/embed?${query}`;
  return `<iframe src="${escaped(address)}"\n  title="Live visitors" width="480" height="320" style="border:0"></iframe>`;
}

export function imageCode({ base, siteId }: WidgetPlace): string {
  return `![live visitors](${base}/live/${encodeURIComponent(siteId)}.svg)`;
}

/** The command with which a server requests a token. */
export function tokenCode({ base, siteId }: WidgetPlace): string {
  return `curl "${base}/insights/${encodeURIComponent(siteId)}/live/token?ttl=3600" \\
  -H "service-client-id: $CLIENT_ID" -H "service-client-secret: $CLIENT_SECRET"`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
