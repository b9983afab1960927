import type { Software } from './user-agent.ts';
import { brandOfModel, type Device, hardwareOf } from './user-agent-device.ts';
import { isSystemName, type System, systemNameOf } from './user-agent-system.ts';
import { storableText } from './user-agent-version.ts';

/**
 * A sender's claims about its own device, in the properties `__os`, `__osVersion`, `__browser`, `__browserVersion`, `__device`, `__brand`
 * and `__model`. Texts of at most 64 characters; empty when absent.
 */
export type SoftwareClaim = Software;

/** A claim, read field by field. */
export type GivenSoftware = { -readonly [Name in keyof SoftwareClaim]?: SoftwareClaim[Name] | undefined };

export const NO_SOFTWARE_CLAIM: SoftwareClaim = {
  browser: '',
  browserVersion: '',
  os: '',
  osVersion: '',
  device: '',
  brand: '',
  model: '',
};

/** The claim of these texts, cut and cleaned. */
export function softwareClaimOf(given: Readonly<GivenSoftware>): SoftwareClaim {
  const { browser = '', browserVersion = '', os = '', osVersion = '', device = '' } = given;
  const claim: SoftwareClaim = {
    browser: storableText(browser),
    browserVersion: storableText(browserVersion),
    os: systemNameOf(storableText(os)),
    osVersion: storableText(osVersion),
    device,
    brand: storableText(given.brand ?? ''),
    model: storableText(given.model ?? ''),
  };
  return isSameClaim(claim, NO_SOFTWARE_CLAIM) ? NO_SOFTWARE_CLAIM : claim;
}

export function isSameClaim(one: SoftwareClaim, other: SoftwareClaim): boolean {
  if (one === other) return true;
  return (
    one.os === other.os &&
    one.osVersion === other.osVersion &&
    one.device === other.device &&
    one.brand === other.brand &&
    one.model === other.model &&
    one.browser === other.browser &&
    one.browserVersion === other.browserVersion
  );
}

/**
 * The software of a visitor: the user agent's, overridden by the sender's claim. If the claimed system or browser differs, nothing of the
 * other is taken over; kind and maker of a device follow from the claimed system and model.
 */
export function claimedSoftware(software: Software, claim: SoftwareClaim): Software {
  // A visitor's device is no server, even where a server's program sends its events.
  const device = software.device === 'server' ? '' : software.device;
  if (claim === NO_SOFTWARE_CLAIM) return device === software.device ? software : { ...software, device };
  const os = claim.os || software.os;
  const isSameSystem = os === software.os;
  const isOtherModel = claim.model !== '' && claim.model !== software.model;
  const follows = hardwareOfClaim(os, claim.model);
  const known = isSameSystem ? { ...software, device } : NO_SOFTWARE_CLAIM;
  const browser = claim.browser || software.browser;
  const claimedDevice = claim.device === 'server' ? '' : claim.device;
  return {
    browser,
    browserVersion: claim.browserVersion || (browser === software.browser ? software.browserVersion : ''),
    os,
    osVersion: claim.osVersion || known.osVersion,
    device: claimedDevice || (isOtherModel ? follows.device : '') || known.device || follows.device,
    brand: claim.brand || (isOtherModel ? follows.brand : known.brand || follows.brand),
    model: claim.model || known.model,
  };
}

const IPAD = 'iPad';
const IOS: System = { name: 'iOS', version: '' };

/** Kind and maker of a device, as an agent that names this system and model would have them. */
function hardwareOfClaim(os: string, model: string): { readonly device: Device; readonly brand: string } {
  if (os === 'iPadOS') return hardwareOf(IPAD, IOS, true);
  if (isSystemName(os)) return hardwareOf(`(${model})`, { name: os, version: '' }, true);
  if (/^i(?:Phone|Pad|Pod)/.test(model)) return hardwareOf(model, IOS, true);
  return { device: '', brand: brandOfModel(model) };
}
