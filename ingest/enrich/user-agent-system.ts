import { leadingNumbers } from './user-agent-version.ts';

/**
 * The operating system. Every Linux distribution is `Linux`, every iPad `iOS`; the version is as the user agent gives
 * it.
 */
export interface System {
  readonly name: string;
  readonly version: string;
}

type Signature = readonly [name: string, pattern: RegExp, version?: RegExp];

const NO_SYSTEM: System = { name: '', version: '' };
const NO_VERSION = /$^/;
const APPLE_VERSION = /\bOS (\d[\d_.]*) like Mac OS X/;

// Order matters, because later systems are named by earlier ones: consoles name Windows, Windows Phone names Android
// and iPhone, HarmonyOS names Android, Android names Linux, and iOS names Mac OS X.
//
// ua-parser-js was rejected here: it takes Android TVs, tvOS and Xbox for other systems, and names distributions of Linux
// and old names (`Mac OS`) that would split one system into several.
const SIGNATURES: readonly Signature[] = [
  ['Xbox', /\bXbox\b|\bXBOX_ONE/, NO_VERSION],
  ['PlayStation', /\bPlayStation\b/i, /\bPlayStation (?:\d|Vita|Portable)[ /]([\d.]+)/i],
  ['Nintendo', /\bNintendo\b/, NO_VERSION],
  ['tvOS', /\bAppleTV\d+,\d+\/([\d.]+)/],
  ['tvOS', /\bApple ?TV(?:\b|(?=\d))|\btvOS\b/, /\b(?:CPU OS |tvOS[ /])(\d[\d_.]*)/],
  ['watchOS', /\bwatchOS[ /]?([\d.]*)/i],
  ['Windows Phone', /\bWindows Phone(?: OS)?(?: ([\d.]+))?/],
  ['Windows Mobile', /\bWindows (?:Mobile|CE)\b/, NO_VERSION],
  ['KaiOS', /\bKAIOS\/([\d.]+)/i],
  ['HarmonyOS', /\b(?:OpenHarmony|HarmonyOS)(?: ([\d.]+))?/],
  ['Tizen', /\bTizen[ /]?([\d.]*)/],
  ['webOS', /\bWeb0S\b|\bhpwOS\b|\bwebOS\b|\bNetCast\b/, NO_VERSION],
  ['Roku OS', /\bRoku\b/, /\bDVP-([\d.]+)/],
  ['Fuchsia', /\bFuchsia\b/, NO_VERSION],
  ['Chrome OS', /\bCrOS \w+ ([\d.]+)/],
  ['BlackBerry', /\b(?:BlackBerry|BB10|PlayBook)/, /\b(?:Version\/|BlackBerry\d+\/|Tablet OS )([\d.]+)/],
  ['Symbian', /\bSymb(?:ian|OS)|\bSeries ?60\b/, /\bSymbianOS\/([\d.]+)/],
  ['Bada', /\bBada(?:\/([\d.]+))?/],
  ['MeeGo', /\bMeeGo\b|\bMaemo\b/, NO_VERSION],
  ['Sailfish', /\bSailfish\b/, NO_VERSION],
  ['iOS', APPLE_VERSION],
  ['iOS', /\biP(?:hone|ad|od)(?:\b|(?=\d))/, /\b(?:i?OS |iPadOS[ /]|FBSV\/)(\d[\d_.]*)/],
  ['iOS', /\b(?:iOS|iPadOS)[ /](\d[\d_.]*)/],
  // Facebook's app sends its own list of facts, with neither system nor model in the usual position.
  ['Android', /\bFBAN\/(?:FB4A|Orca-Android|EMA)\b/, /\bFBSV\/([\d.]+)/],
  // Only Instagram puts the API level before the version.
  ['Android', /\bAndroid \(\d+\/([\d.]+)/],
  ['Android', /\bAndroid[ /-]?([\d.]*)/],
  // The HTTP library of nearly all Android apps. Servers use it, too, and no text distinguishes them.
  ['Android', /\bokhttp\//, NO_VERSION],
  // Amazon's tablets and Meta's headsets omit Android when they request desktop pages.
  ['Android', /\bKF[A-Z]{2,6} Build\b|\bOculusBrowser\b/, NO_VERSION],
  ['Firefox OS', /^Mozilla\/5\.0 \((?:Mobile|Tablet|TV);/, NO_VERSION],
];

const DESKTOPS: readonly Signature[] = [
  ['macOS', /\bMac OS X ?([\d_.]*)/],
  ['macOS', /\bmacOS[ /]([\d_.]+)/],
  ['macOS', /\bMacintosh\b|\bMac_PowerPC\b|\bMac_PPC\b/, NO_VERSION],
  ['FreeBSD', /\bFreeBSD\b/, NO_VERSION],
  ['OpenBSD', /\bOpenBSD\b/, NO_VERSION],
  ['NetBSD', /\bNetBSD\b/, NO_VERSION],
  ['Solaris', /\bSunOS\b/, NO_VERSION],
  ['Haiku', /\bHaiku\b/, NO_VERSION],
  ['Linux', /\bLinux\b|\bX11\b|\bWayland\b/, NO_VERSION],
];

const WINDOWS_BY_KERNEL: ReadonlyMap<string, string> = new Map([
  ['10.0', '10'],
  ['6.4', '10'],
  ['6.3', '8.1'],
  ['6.2', '8'],
  ['6.1', '7'],
  ['6.0', 'Vista'],
  ['5.2', 'XP'],
  ['5.1', 'XP'],
  ['5.01', '2000'],
  ['5.0', '2000'],
  ['4.0', 'NT 4.0'],
]);

const DESKTOP_NAMES: ReadonlySet<string> = new Set([
  'Windows',
  'Chrome OS',
  ...DESKTOPS.map(([name]) => name),
]);

export function systemOf(userAgent: string): System {
  const named = signed(userAgent, SIGNATURES) ?? windowsOf(userAgent) ?? signed(userAgent, DESKTOPS);
  return userAgent.includes('CFNetwork/') ? ofApple(userAgent, named) : (named ?? NO_SYSTEM);
}

/** Our spelling of a system's name; other names are unchanged. */
export function systemNameOf(name: string): string {
  return SYSTEM_NAMES.get(name.toLowerCase()) ?? name;
}

/** True if this is the name of a system that user agents are recognized to have. */
export function isSystemName(name: string): boolean {
  return SYSTEM_NAMES.get(name.toLowerCase()) === name;
}

const SYSTEM_NAMES: ReadonlyMap<string, string> = new Map(
  [...SIGNATURES.map(([name]) => name), ...DESKTOP_NAMES, 'iPadOS'].map((name) => [name.toLowerCase(), name]),
);

const MAC = /\b(?:MacBook|iMac|Macmini|MacPro|Mac\d)|\((?:x86_64|i386)\)/;

/** The system below Apple's HTTP library: the one that is named, else a Mac by its model or processor, else iOS. */
function ofApple(userAgent: string, named: System | undefined): System {
  const name = named?.name ?? (MAC.test(userAgent) ? 'macOS' : 'iOS');
  if (named !== undefined && named.version !== '') return named;
  const darwin = Number(/\bDarwin\/(\d{1,3})/.exec(userAgent)?.[1]);
  return { name, version: versionOfDarwin(name, darwin) };
}

/** The first number of a system's version by its kernel's; empty when that is unknown. */
function versionOfDarwin(name: string, darwin: number): string {
  // Since 2025 all of Apple's systems have the number of the year; of Darwin 14 there were two versions of iOS.
  if (darwin >= 25) return String(darwin + 1);
  if (name === 'macOS') return darwin >= 20 ? String(darwin - 9) : darwin >= 5 ? `10.${darwin - 4}` : '';
  return name === 'watchOS' ? '' : darwin >= 15 ? String(darwin - 6) : '';
}

/** True for the system of a desktop or a laptop. */
export function isDesktopSystem(name: string): boolean {
  return DESKTOP_NAMES.has(name);
}

function signed(userAgent: string, signatures: readonly Signature[]): System | undefined {
  for (const [name, pattern, versionPattern] of signatures) {
    const match = pattern.exec(userAgent);
    if (match === null) continue;
    const version = versionPattern === undefined ? match[1] : versionPattern.exec(userAgent)?.[1];
    return { name, version: leadingNumbers(version ?? '', 3) };
  }
  return undefined;
}

/** Windows sends its kernel's version, which is mapped to the product's; an unknown kernel gives no version. */
function windowsOf(userAgent: string): System | undefined {
  const kernel = /\bWindows NT ([\d.]+)/.exec(userAgent)?.[1];
  if (kernel !== undefined) return { name: 'Windows', version: WINDOWS_BY_KERNEL.get(kernel) ?? '' };
  if (/\bWin 9x 4\.90\b|\bWindows ME\b/.test(userAgent)) return { name: 'Windows', version: 'ME' };
  const named = /\bWin(?:dows )?(95|98|2000|XP|Vista)\b/.exec(userAgent)?.[1];
  if (named !== undefined) return { name: 'Windows', version: named };
  return /\bWindows\b|\bWinNT\b/.test(userAgent) ? { name: 'Windows', version: '' } : undefined;
}
