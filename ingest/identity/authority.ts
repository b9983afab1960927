import type { Authority } from '../entity-update.ts';
import type { DeviceId } from '../event.ts';
import type { Caller } from './caller.ts';
import type { RequestVisitor } from './request-visitor.ts';
import type { Devices } from './visitor.ts';

/** The form of a derived device id. No browser can prove that another one is its own. */
const DERIVED = /^[0-9a-f]{32}$/;

/**
 * Decides the right by which a request may change profiles and groups. A browser proves its device by address and agent, not by an id in
 * the body. Undefined while the salt of the day is not available.
 */
export function authorityOf(
  { verified, site }: Caller,
  visitor: RequestVisitor,
  devices: Devices,
  nowMs: number,
): Authority | undefined {
  if (verified) return bySecret(devices.deviceId);
  const derived = visitor.derivedDevices(nowMs);
  if (derived === undefined) return undefined;
  const own = [derived.deviceId, derived.earlierDeviceId].filter((device) => device !== '');
  return { kind: site.allowUnsafeIdentify ? 'site' : 'device', devices: own };
}

/** The authority of a sender with a secret, who names this device or none. */
export function bySecret(deviceId: DeviceId): Authority {
  return { kind: 'secret', devices: DERIVED.test(deviceId) ? [deviceId] : [] };
}
