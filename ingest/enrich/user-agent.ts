import { browserOf } from './user-agent-browser.ts';
import { brandOfModel, type Device, hardwareOf } from './user-agent-device.ts';
import { type ClientHints, type HintedSoftware, parseClientHints } from './user-agent-hints.ts';
import { isDesktopSystem, systemOf } from './user-agent-system.ts';
import { storableText, USER_AGENT_MAX } from './user-agent-version.ts';

/** The software and device that a visitor uses. Texts of at most 64 characters; empty when unknown. */
export interface Software {
  readonly browser: string;
  readonly browserVersion: string;
  readonly os: string;
  readonly osVersion: string;
  readonly device: Device;
  readonly brand: string;
  readonly model: string;
}

/**
 * Parses a user agent and its hints. A pure function that reads 1024 characters, in time proportional to their number;
 * enrichment caches the results.
 *
 * Limits of the texts: an iPad that requests desktop pages is a Macintosh; Brave and Tor on a desktop are Chrome and
 * Firefox; Windows 11 is 10 and every macOS since 11 is 10.15.7 unless client hints say more; Android with a reduced
 * user agent (`Android 10; K`) has no model. An Android device without `Mobile` and without its kind is a tablet. A
 * bare `okhttp` is taken for an Android phone, and a bare `CFNetwork` for an iPhone, whose Darwin version gives the
 * first number of the system's. A server has no browser and no system, because these do not describe a visitor.
 */
export function softwareOf(userAgent: string, hints: ClientHints): Software {
  const text = userAgent.slice(0, USER_AGENT_MAX);
  const browser = browserOf(text);
  const system = systemOf(text);
  const hardware = hardwareOf(text, system, browser.name !== '');
  if (hardware.device === 'server') return storable({ ...NO_SOFTWARE, device: 'server' });
  const software: Software = {
    browser: browser.name,
    browserVersion: browser.version,
    os: system.name,
    osVersion: system.version,
    ...hardware,
  };
  // Only Chromium-based browsers send hints; with any other user agent they are made up.
  return storable(text.includes('Chrome/') ? corrected(software, parseClientHints(hints)) : software);
}

/** Libraries that apps send with, and the agent of the de-facto standard's Swift package on a TV or a watch. */
const APP_LIBRARY = /^Dalvik\/|\bokhttp\/|\bCFNetwork\/|\bAlamofire\/|^OpenPanel\/[\d.]+ \(/;

/**
 * True if a user agent with this software is a browser's or an app's, and so a visitor's. Programs on servers name desktop systems, too;
 * among these, only macOS makes it a device.
 */
export function isVisitorAgent(userAgent: string, { browser, device }: Software): boolean {
  if (device === 'server') return false;
  return device !== '' || browser !== '' || userAgent.includes('Mozilla/') || APP_LIBRARY.test(userAgent);
}

const NO_SOFTWARE: Software = {
  browser: '',
  browserVersion: '',
  os: '',
  osVersion: '',
  device: '',
  brand: '',
  model: '',
};

/** Names that a derived browser may hide behind. A hint may replace only these. */
const HIDING: ReadonlySet<string> = new Set(['Chrome', 'Chromium', 'Opera']);

/** The user agent's values, corrected by the hints. */
function corrected(software: Software, hinted: HintedSoftware): Software {
  return withDevice(withSystem(withBrowser(software, hinted), hinted), hinted);
}

function withBrowser(software: Software, { browser, browserVersion }: HintedSoftware): Software {
  if (browser === '' || !HIDING.has(software.browser) || browser === 'Chromium') return software;
  if (browser === software.browser) return software;
  return { ...software, browser, browserVersion };
}

function withSystem(software: Software, { os, osVersion }: HintedSoftware): Software {
  // Only the user agent names systems built on these (HarmonyOS, Tizen, consoles).
  const mayChange = software.os === '' || software.os === 'Android' || isDesktopSystem(software.os);
  if (os === '' || !mayChange) return software;
  if (os === software.os) return osVersion === '' ? software : { ...software, osVersion };
  const brand = os === 'macOS' ? 'Apple' : '';
  return {
    ...software,
    os,
    osVersion,
    device: softwareDevice(os),
    brand,
    model: os === 'macOS' ? 'Macintosh' : '',
  };
}

function softwareDevice(os: string): Device {
  return os === 'Android' ? 'tablet' : 'desktop';
}

function withDevice(software: Software, { isMobile, model }: HintedSoftware): Software {
  if (software.os !== 'Android') return software;
  const device = isMobile === true && software.device === 'tablet' ? 'mobile' : software.device;
  // A model in the user agent is the same as the hint's.
  if (model === '' || software.model !== '') return { ...software, device };
  return { ...software, device, model, brand: brandOfModel(storableText(model)) };
}

function storable(software: Software): Software {
  return {
    browser: storableText(software.browser),
    browserVersion: storableText(software.browserVersion),
    os: storableText(software.os),
    osVersion: storableText(software.osVersion),
    device: software.device,
    brand: storableText(software.brand),
    model: storableText(software.model),
  };
}
