import UAParser from 'ua-parser-js';
import { isDesktopSystem, type System } from './user-agent-system.ts';

/** Kinds of devices. A watch or a headset counts as `mobile`; `server` is a program that shows no page. */
export const DEVICES = ['desktop', 'mobile', 'tablet', 'tv', 'console', 'server'] as const;
export type Device = (typeof DEVICES)[number] | '';

/** A device; a field is empty when the user agent does not contain it. */
export interface Hardware {
  readonly device: Device;
  readonly brand: string;
  /** Spelled as in the user agent, without the part after a slash and without a leading `SAMSUNG`. */
  readonly model: string;
}

const NO_HARDWARE: Hardware = { device: '', brand: '', model: '' };
const MODEL_MAX = 64;

// Programs that fetch pages and show none. They begin with their own name, which no browser does.
const SERVER_PROGRAM =
  /^(?:curl|wget|libcurl|python|python-\w+|aiohttp|httpx|urllib3?|go-http-client|node|node-\w+|undici|axios|got|superagent|deno|bun|java|java-http-client|apache-httpclient|jakarta|jetty|vert\.x|ruby|rest-client|faraday|typhoeus|guzzlehttp|php|symfony|wordpress|postmanruntime|insomnia|httpie|reqwest|ureq|hyper|dart|libwww-perl|lwp|perl|elixir|hackney|finch|req|restsharp|dotnet|powershell)(?=$|[\s/;(-])|\bWindowsPowerShell\//i;

const TV =
  /\bSMART-?TV\b|\bSmartTV\b|\bGoogleTV\b|\bAndroid TV\b|\bHbbTV\b|\bNetCast\b|\bCrKey\b|\bBRAVIA\b|\bMiTV|\bMIBOX|\bMiBOX|\bNexus Player\b|\bAFT[A-Z0-9]{1,6}\b|\bAQUOS ?TV|\bAQUOSBrowser\b|\bViera\b|\bVIDAA\b|\bPhilipsTV\b|\bDTV\b|\bSonyDTV|\bInettvBrowser\b|\bSmartCast\b|\bRoku\b|\bTV Safari\/|\bTV\)|\bTV /;
const TV_BRANDS: readonly (readonly [brand: string, pattern: RegExp])[] = [
  ['Samsung', /\bSamsung|\bSAMSUNG|\bTizen\b|\bMaple\b/],
  ['LG', /\bWeb0S\b|\bwebOS\b|\bNetCast\b|\bLGE?\b/],
  ['Sony', /\bBRAVIA\b|\bSony/],
  ['Roku', /\bRoku\b/],
  ['Google', /\bCrKey\b/],
  ['Philips', /\bPhilips/],
  ['Panasonic', /\bViera\b|\bPanasonic/i],
  ['Hisense', /\bVIDAA\b|\bHisense/i],
  ['Sharp', /\bAQUOS/],
];

const TABLET = /\bTablet\b(?! (?:PC|OS))|\bPlayBook\b|\bKindle\b|\bKF[A-Z]{2,6}\b/;
const PHONE = /\bMobile\b|\bPhone\b|\bMIDP\b|\bOpera Mini\b|\bUP\.Browser\b/;
// Apps write the hardware's number behind the name, as in `iPhone15,2`.
const APPLE = /\b(iPhone|iPad|iPod touch|iPod)(?:\b|(?=\d))/;

/** Brands that the library spells differently from their makers or does not know. */
const BRAND_NAMES: ReadonlyMap<string, string> = new Map([
  ['Facebook', 'Meta'],
  ['NVIDIA', 'Nvidia'],
  ['Sony Ericsson', 'Sony'],
  ['ALCATEL', 'Alcatel'],
  ['ASUS', 'Asus'],
  ['TECNO', 'Tecno'],
]);
const BRANDS_BY_MODEL: readonly (readonly [brand: string, pattern: RegExp])[] = [
  ['Google', /^Pixel\b/],
  ['Vivo', /^(?:vivo\b|V[12]\d{3}[A-Z]{0,2}$|I[12]\d{3}$)/],
  ['Sony', /^(?:XQ-|Sony)/],
  ['Huawei', /HUAWEI/i],
  ['Honor', /HONOR/i],
  ['Amazon', /^(?:KF[A-Z]{2,6}|AFT[A-Z0-9]{1,6}|Kindle)\b/],
  ['Meta', /^Quest\b/],
  ['Cubot', /^CUBOT\b/i],
  ['Xiaomi', /^Mi(?:TV|BOX)/i],
  ['Wiko', /^W-[A-Z]\d{3}/],
  ['Nothing', /^A0(?:63|65|142)P?$/],
];

/** Kinds of devices by the words for them, in lower case. */
const KINDS: ReadonlyMap<string, (typeof DEVICES)[number]> = new Map([
  ...DEVICES.map((device) => [device, device] as const),
  ['phone', 'mobile'],
  ['smartphone', 'mobile'],
  ['wearable', 'mobile'],
  ['smarttv', 'tv'],
  ['computer', 'desktop'],
]);

/** The kind of device that a word names, in any case. */
export function deviceKindOf(word: string): (typeof DEVICES)[number] | undefined {
  return KINDS.get(word.toLowerCase());
}

/** True if a user agent belongs to a library or a command line, which shows no page. */
export function isServerProgram(userAgent: string): boolean {
  return SERVER_PROGRAM.test(userAgent);
}

/** The device behind a user agent whose system is known; `isBrowser`: a browser was recognized. */
export function hardwareOf(userAgent: string, system: System, isBrowser: boolean): Hardware {
  if (isServerProgram(userAgent)) return { ...NO_HARDWARE, device: 'server' };
  switch (system.name) {
    case 'iOS':
      return appleHardware(userAgent);
    case 'tvOS':
      return { device: 'tv', brand: 'Apple', model: 'Apple TV' };
    case 'watchOS':
      return { device: 'mobile', brand: 'Apple', model: 'Watch' };
    case 'PlayStation':
    case 'Xbox':
    case 'Nintendo':
      return consoleOf(userAgent, system.name);
  }
  if (TV.test(userAgent) || system.name === 'webOS') return televisionOf(userAgent, system);
  if (/\bKindle\//.test(userAgent)) return { device: 'tablet', brand: 'Amazon', model: 'Kindle' };
  // An agent that names macOS and no browser is an app's; with another desktop system it may be a server's.
  if (isDesktopSystem(system.name))
    return isBrowser || system.name === 'macOS' ? desktopOf(userAgent, system) : NO_HARDWARE;
  return portableOf(userAgent, system);
}

/** The maker of an Android device by its model; empty when unknown. */
export function brandOfModel(model: string): string {
  if (model === '') return '';
  const known = BRANDS_BY_MODEL.find(([, pattern]) => pattern.test(model));
  if (known !== undefined) return known[0];
  const { vendor } = deviceOfModel(model);
  return vendor === undefined ? '' : (BRAND_NAMES.get(vendor) ?? vendor);
}

// ua-parser-js is used only for makers and sizes by model, because it lists thousands of models. It was rejected for the rest: it gets the
// kind of device wrong for 11 of the 687 labelled user agents in testing/, this file for none; and some of its patterns are slow on texts
// made for that, so it only sees a short model inside a constant text.
function deviceOfModel(model: string): UAParser.IDevice {
  const text = `Mozilla/5.0 (Linux; Android 10; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/100.0.0.0 Mobile Safari/537.36`;
  return new UAParser(text).getDevice();
}

function appleHardware(userAgent: string): Hardware {
  const model = APPLE.exec(userAgent)?.[1] ?? (/\biPadOS\b/.test(userAgent) ? 'iPad' : '');
  return { device: model === 'iPad' ? 'tablet' : 'mobile', brand: 'Apple', model };
}

function consoleOf(userAgent: string, system: string): Hardware {
  if (system === 'Xbox') {
    const model = /\bXbox (?:One|Series [XS]|360)\b/.exec(userAgent)?.[0];
    return {
      device: 'console',
      brand: 'Microsoft',
      model: model ?? (/XBOX_ONE/.test(userAgent) ? 'Xbox One' : 'Xbox'),
    };
  }
  if (system === 'Nintendo') {
    const model = /\bNintendo ((?:New )?3DS|Switch 2|Switch|Wii ?U|Wii|DSi?)/.exec(userAgent)?.[1] ?? '';
    return { device: 'console', brand: 'Nintendo', model };
  }
  const kind = /\bPlayStation (\d|Vita|Portable)\b/i.exec(userAgent)?.[1];
  return {
    device: 'console',
    brand: 'Sony',
    model: kind === undefined ? 'PlayStation' : `PlayStation ${kind}`,
  };
}

function televisionOf(userAgent: string, system: System): Hardware {
  const model = system.name === 'Android' ? modelOf(userAgent) : '';
  const byText = TV_BRANDS.find(([, pattern]) => pattern.test(userAgent))?.[0];
  return {
    device: 'tv',
    brand: byText ?? brandOfModel(model),
    model: /\bCrKey\b/.test(userAgent) ? 'Chromecast' : model,
  };
}

function desktopOf(userAgent: string, system: System): Hardware {
  if (system.name === 'macOS') return { device: 'desktop', brand: 'Apple', model: 'Macintosh' };
  return { device: 'desktop', brand: /\bTesla\//.test(userAgent) ? 'Tesla' : '', model: '' };
}

function portableOf(userAgent: string, system: System): Hardware {
  if (system.name === '' && !PHONE.test(userAgent)) return NO_HARDWARE;
  const model = modelOf(userAgent);
  return { device: sizeOf(userAgent, system, model), brand: makerOf(userAgent, system, model), model };
}

/** On Android, browsers on phones send `Mobile` and those on tablets do not; other programs send neither. */
function sizeOf(userAgent: string, system: System, model: string): Device {
  if (TABLET.test(userAgent)) return 'tablet';
  if (userAgent.includes('(PC; OpenHarmony')) return 'desktop';
  if (system.name !== 'Android' && system.name !== 'HarmonyOS') return 'mobile';
  if (PHONE.test(userAgent) || /\bVR\b|\bOculusBrowser\b/.test(userAgent)) return 'mobile';
  if (userAgent.startsWith('Mozilla/')) return 'tablet';
  return model !== '' && deviceOfModel(model).type === 'tablet' ? 'tablet' : 'mobile';
}

function makerOf(userAgent: string, system: System, model: string): string {
  if (system.name === 'BlackBerry') return 'BlackBerry';
  if (/\bHuaweiBrowser\/|\bBuild\/HUAWEI/.test(userAgent)) return 'Huawei';
  if (/\bBuild\/HONOR/.test(userAgent)) return 'Honor';
  if (system.name === 'Windows Phone') {
    const maker = /; (Microsoft|NOKIA|Nokia|SAMSUNG|HTC|LG|HUAWEI);/.exec(userAgent)?.[1] ?? '';
    return maker.length > 3 ? maker.charAt(0) + maker.slice(1).toLowerCase() : maker;
  }
  return brandOfModel(model) || (/\bNokia/.test(userAgent) ? 'Nokia' : '');
}

/** Parts of the first parenthesis that are not a model: systems, languages, and additions of browsers. */
const NO_MODEL =
  /^(?:U|u|K|wv|I|N|X11|Linux.*|Android.*|HarmonyOS.*|OpenHarmony.*|Tizen.*|Windows.*|Mobile|Tablet|TV|Phone|PC|Touch|ARM|compatible|MSIE.*|Trident.*|IEMobile.*|arm(?:_?64|v\d\w*)?|x86(?:_64)?|rv:.*|HMSCore.*|BB10|BlackBerry|PlayBook|RIM Tablet OS.*|[a-z]{2}(?:[-_][A-Za-z]{0,4})?|NOKIA|Microsoft|SAMSUNG|J2ME.*|MTK|Opera .*|unknown)$/;

/** The model in the first parenthesis, or at the start of an old phone's user agent. */
function modelOf(userAgent: string): string {
  const old = /^SAMSUNG-([\w-]+)\//.exec(userAgent)?.[1] ?? /^(Nokia[\w.-]+)\//.exec(userAgent)?.[1];
  const listed = userAgent.startsWith('[FB') ? /\bFBDV\/([^;\]]{1,64})/.exec(userAgent)?.[1] : undefined;
  if (old !== undefined || listed !== undefined) return (old ?? listed ?? '').slice(0, MODEL_MAX);
  for (const part of firstParenthesis(userAgent).split(';', PARTS_MAX)) {
    const model = withoutBuild(part.trim());
    if (model !== '' && !NO_MODEL.test(model)) return model.slice(0, MODEL_MAX);
  }
  return '';
}

const PARTS_MAX = 24;

// Models contain parentheses themselves, such as `moto g(8) power`, so the end is recognized by the text behind it.
function firstParenthesis(userAgent: string): string {
  const start = userAgent.indexOf('(');
  if (start < 0) return '';
  const ends = [') AppleWebKit', ')AppleWebKit', ') Gecko', ') Presto', ') like '].map((end) =>
    userAgent.indexOf(end, start),
  );
  const end = ends.find((at) => at >= 0) ?? userAgent.lastIndexOf(')');
  return userAgent.slice(start + 1, end < start ? undefined : end);
}

function withoutBuild(part: string): string {
  const build = part.search(/(?:^| )Build\b/);
  const named = (build < 0 ? part : part.slice(0, build)).replace(/^(?:SAMSUNG[ -]|BlackBerry )/, '');
  const slash = named.indexOf('/');
  return (slash < 0 ? named : named.slice(0, slash)).trim();
}
